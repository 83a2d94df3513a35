"""Who trained a model, told from its name."""

import re
from typing import Final

_FAMILIES: Final = {
    "claude": r"claude",
    "gpt": r"gpt|chatgpt|davinci|^o[1-9]",
    "gemini": r"gemini|gemma|learnlm",
    "kimi": r"kimi|moonshot",
    "qwen": r"qwen|qwq|qvq",
    "deepseek": r"deepseek",
    "llama": r"llama|codellama",
    "mistral": r"mistral|mixtral|ministral|magistral|codestral|devstral|pixtral",
    "grok": r"grok",
    "glm": r"glm|chatglm",
    "minimax": r"minimax|abab",
    "command": r"command-[ar]|c4ai|aya",
    "phi": r"phi-?\d",
    "nova": r"nova",
    "granite": r"granite",
    "nemotron": r"nemotron",
    "olmo": r"olmo|tulu",
    "yi": r"yi-\d",
    "hunyuan": r"hunyuan",
    "ernie": r"ernie",
    "doubao": r"doubao|seed-oss",
    "falcon": r"falcon",
    "jamba": r"jamba",
    "step": r"step-\d",
    "mimo": r"mimo",
}
_WORD: Final = {family: re.compile(rf"(?<![a-z])(?:{words})(?![a-z])") for family, words in _FAMILIES.items()}


def family_of(name: str) -> str:
    """The family of a model's name in lower case, `unknown` where the name tells none.

    The word that stands first decides, so that a model distilled from another (`deepseek-r1-distill-llama-70b`) counts as its maker's. What
    precedes the last `/` (an organisation, a route of a gateway) is asked only where the name itself tells nothing.
    """
    path, _, last = name.lower().rpartition("/")
    for part in (last, path):
        found = [(match.start(), family) for family, words in _WORD.items() if (match := words.search(part))]
        if found:
            return min(found)[1]
    return "unknown"
