"""The two loaders that the delivered `load_prices.py` calls."""

from importlib.metadata import distribution

import pandas as pd


def _read(name: str) -> pd.DataFrame:
    path = str(distribution("skfolio").locate_file(f"skfolio/datasets/data/{name}.csv.gz"))
    return pd.read_csv(path, index_col=0, parse_dates=[0])


def load_sp500_dataset() -> pd.DataFrame:
    return _read("sp500_dataset")


def load_sp500_index() -> pd.DataFrame:
    return _read("sp500_index")
