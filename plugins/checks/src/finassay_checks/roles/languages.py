"""Headers and labels in other languages, as the English words that everything else knows."""

import re
import unicodedata
from functools import lru_cache

_WORDS: dict[str, str] = {
    "date": "datum|data|fecha|dato|datums|dag|dagsetning|日付|日期|날짜|交易日期|交易日",
    "trade date": (
        "handelstag|handelsdatum|buchungstag|ausfuehrungsdatum|abschlusstag|date operation|date d operation|"
        "date transaction|date de transaction|date execution|fecha operacion|fecha de operacion|data operazione|"
        "data operacao|data da operacao|約定日|成交日期|取引日"
    ),
    "entry date": (
        "einstieg|einstiegsdatum|einstiegszeit|kaufdatum|eroeffnet|date entree|date d entree|date achat|date d achat|"
        "fecha entrada|fecha de entrada|fecha compra|data entrata|data di entrata|data entrada|data de entrada|買付日|建玉日|"
        "开仓时间|开仓日期|买入日期"
    ),
    "exit date": (
        "ausstieg|ausstiegsdatum|ausstiegszeit|verkaufsdatum|geschlossen|date sortie|date de sortie|date vente|"
        "fecha salida|fecha de salida|fecha venta|data uscita|data di uscita|data saida|data de saida|売付日|決済日|平仓时间|平仓日期|"
        "卖出日期"
    ),
    "signal date": "signaldatum|signaltag|date signal|date du signal|fecha senal|data segnale|data sinal|信号日期",
    "ticker": (
        "wertpapier|kuerzel|boersenkuerzel|wkn|titel|titre|valeur|valor|titulo|titolo|simbolo|symbole|code valeur|銘柄|"
        "銘柄コード|证券代码|股票代码|代码|종목|종목코드|ativo|papel"
    ),
    "side": (
        "richtung|kauf/verkauf|orderart|sens|operation|operacion|operazione|operacao|sentido|売買|買卖|买卖|买卖方向|方向|매매구분|"
        "achat/vente|compra/venta"
    ),
    "shares": (
        "stueck|stueckzahl|anzahl|menge|quantite|quantita|cantidad|quantidade|nombre de titres|nombre d actions|数量|"
        "株数|成交数量|股数|수량"
    ),
    "price": "kurs|preis|ausfuehrungskurs|prix|precio|prezzo|preco|cours|cours d execution|約定価格|単価|価格|成交价|成交价格|价格|가격",
    "entry price": (
        "einstiegskurs|einstiegspreis|kaufkurs|kaufpreis|prix entree|prix d entree|prix d achat|precio entrada|"
        "precio de entrada|precio de compra|prezzo di entrata|prezzo entrata|preco de entrada|買付価格|建値|开仓价|买入价|买入价格"
    ),
    "exit price": (
        "ausstiegskurs|ausstiegspreis|verkaufskurs|verkaufspreis|prix sortie|prix de sortie|prix de vente|precio salida|"
        "precio de salida|precio de venta|prezzo di uscita|prezzo uscita|preco de saida|売付価格|決済価格|平仓价|卖出价|卖出价格"
    ),
    "fee": (
        "gebuehr|gebuehren|kosten|provision|ordergebuehr|handelskosten|frais|courtage|comision|comisiones|commissione|"
        "commissioni|costi|comissao|taxas|手数料|手续费|佣金|수수료"
    ),
    "pnl": (
        "gewinn|gewinn/verlust|g/v|guv|ergebnis|profit/perte|gain/perte|resultat|plus-value|ganancia|beneficio|"
        "ganancia/perdida|profitto|utile|lucro|resultado|損益|盈亏|손익"
    ),
    "reason": "grund|motif|motivo|raison|理由|原因|사유",
    "value": "wert|betrag|montant|importe|importo|金額|金额",
    "amount": "einzahlung/auszahlung|flux",
    "type": "art|typ|tipo|种类|区分",
    "open": "eroeffnung|eroeffnungskurs|ouverture|apertura|abertura|始値|开盘|开盘价|시가",
    "high": "hoch|hoechst|hoechstkurs|tageshoch|haut|maximo|massimo|高値|最高|最高价|고가",
    "low": "tief|tiefst|tiefstkurs|tagestief|bas|minimo|安値|最低|最低价|저가",
    "close": (
        "schluss|schlusskurs|schlusspreis|letzter kurs|cloture|dernier|cours de cloture|cierre|precio de cierre|chiusura|"
        "ultimo|fechamento|終値|收盘|收盘价|종가"
    ),
    "adj close": (
        "bereinigt|bereinigter schlusskurs|schluss bereinigt|cloture ajustee|cierre ajustado|chiusura rettificata|"
        "fechamento ajustado|調整後終値|复权收盘价"
    ),
    "volume": "volumen|umsatz|stueckumsatz|volumes|volumi|出来高|成交量|거래량",
    "equity": (
        "depotwert|portfoliowert|kontostand|kontowert|vermoegen|kapital|fondsvermoegen|anteilswert|nettoinventarwert|"
        "inventarwert|valeur liquidative|valeur du portefeuille|valor liquidativo|valor cartera|valor de la cartera|"
        "valor del portafolio|patrimonio|valore del portafoglio|valore portafoglio|valor da carteira|資産|純資産|評価額|净值|资产|总资产|"
        "账户净值|자산|평가금액"
    ),
    "return": (
        "rendite|tagesrendite|taegliche rendite|rendement|rentabilidad|retorno|rendimento|rendement journalier|"
        "rentabilidad diaria|収益率|日次収益率|收益率|日收益率|수익률"
    ),
    "weight": "gewicht|gewichtung|zielgewicht|poids|peso|ponderacion|ponderazione|比率|权重|비중",
    "cash": "barbestand|kasse|liquiditaet|liquidites|efectivo|liquidita|caixa|現金|现金|현금",
    "total return": (
        "gesamtrendite|gesamtertrag|rendement total|performance totale|rentabilidad total|retorno total|rendimento totale|"
        "累計収益率|总收益率|累计收益率|누적수익률"
    ),
    "annual return": (
        "jahresrendite|rendite p.a.|rendite pro jahr|annualisierte rendite|rendement annuel|rendement annualise|"
        "performance annualisee|rentabilidad anual|rentabilidad anualizada|retorno anual|retorno anualizado|"
        "rendimento annuo|rendimento annualizzato|年率収益率|年化收益率|연환산수익률"
    ),
    "volatility": (
        "volatilitaet|annualisierte volatilitaet|volatilitaet p.a.|volatilite|volatilite annualisee|volatilidad|"
        "volatilidad anual|volatilidad anualizada|volatilita|volatilita annua|volatilita annualizzata|volatilidade|"
        "volatilidade anualizada|年率ボラティリティ|年化波动率|波动率|변동성"
    ),
    "max drawdown": (
        "maximaler drawdown|max. drawdown|maximaler verlust|groesster rueckgang|perte maximale|baisse maximale|"
        "drawdown maximal|drawdown maximum|drawdown maximo|maximo drawdown|caida maxima|massimo drawdown|drawdown massimo|"
        "rebaixamento maximo|最大ドローダウン|最大回撤|최대낙폭"
    ),
    "win rate": (
        "trefferquote|gewinnquote|taux de reussite|taux de gain|tasa de acierto|tasa de aciertos|porcentaje de aciertos|"
        "percentuale di successo|tasso di successo|taxa de acerto|勝率|胜率|승률"
    ),
    "number of trades": (
        "anzahl trades|anzahl der trades|anzahl geschaefte|nombre de trades|nombre de transactions|numero de operaciones|"
        "numero de trades|numero di operazioni|numero operazioni|numero de operacoes|取引回数|交易次数|거래횟수"
    ),
    "net profit": (
        "nettogewinn|reingewinn|benefice net|resultat net|beneficio neto|utile netto|profitto netto|lucro liquido|純利益|净利润"
    ),
    "sharpe ratio": "sharpe-quotient|sharpe quotient|ratio de sharpe|indice di sharpe|indice de sharpe|シャープレシオ|夏普比率|샤프지수",
    "sortino ratio": "sortino-quotient|ratio de sortino|indice di sortino|ソルティノレシオ|索提诺比率",
    "turnover": "umschlag portfolioumschlag|rotation|rotacion|taux de rotation|rotazione|换手率|回転率",
    "initial capital": "startkapital|anfangskapital|capital initial|capital inicial|capitale iniziale|初期資金|初始资金",
    "final value": "endkapital|endwert|capital final|valeur finale|valor final|capitale finale|期末资产|最終資産",
}
_UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss"})
_UNIT = re.compile(r"\s*[\[(](?:%|€|\$|£|¥|eur|usd|gbp|chf|jpy|in %|in eur|元|円)[\])]\s*$|\s+(?:%|in %|in eur|in usd)$", re.I)
BUY_WORDS = frozenset(
    {"kauf", "kaufen", "achat", "acheter", "compra", "comprar", "acquisto", "koop", "köp", "買", "買い", "買付", "买", "买入", "매수"}
)
SELL_WORDS = frozenset(
    {
        "verkauf",
        "verkaufen",
        "vente",
        "vendre",
        "venta",
        "vender",
        "venda",
        "vendita",
        "verkoop",
        "sälj",
        "売",
        "売り",
        "売付",
        "卖",
        "卖出",
        "매도",
    }
)


def plain(text: str) -> str:
    """Lower case without accents and underscores; German umlauts as two letters."""
    text = unicodedata.normalize("NFC", text).lower().translate(_UMLAUTS)
    bare = "".join(c for c in unicodedata.normalize("NFKD", text) if not ("\u0300" <= c <= "\u036f"))
    return " ".join(unicodedata.normalize("NFC", re.sub(r"[_'’:]+", " ", bare)).split())


@lru_cache(maxsize=1)
def _known() -> dict[str, str]:
    known: dict[str, str] = {}
    for english_words, phrases in _WORDS.items():
        for phrase in phrases.split("|"):
            known.setdefault(plain(phrase), english_words)
    return known


@lru_cache(maxsize=20_000)
def english(label: str) -> str:
    """A header or label in English where it is one of the usual ones of another language, else as it is; a unit behind it is kept."""
    if not label or len(label) > 60 or label.isupper():
        return label  # tickers are upper case
    unit = _UNIT.search(label)
    bare = label[: unit.start()] if unit else label
    found = _known().get(plain(bare))
    return label if found is None else found + (f" {unit[0].strip()}" if unit else "")
