"""How each option is said and how people ask about it. Patterns are in the language of `finassay.api.matching`.

A sentence completes 'I want to …', an opening clause completes 'I like …', a piece completes '… is off'.
"""
