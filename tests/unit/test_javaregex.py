import pytest
from hypothesis import given
from hypothesis import strategies as st

from twinlog.model.javaregex import RegexError, compile_java


@pytest.mark.parametrize(
    ("pattern", "matching", "other"),
    [
        (r"\Qa.b\E.*", "a.bc", "axbc"),
        (r"\Qa.b", "a.b", "axb"),
        (r"(?<x>ab)\k<x>", "abab", "abba"),
        (r"\p{Alpha}+", "Ab", "A1"),
        (r"[\p{Digit}x]+", "1x", "1y"),
        (r"\P{Digit}+", "ab", "a1"),
        (r"\p{Lu}\p{Ll}+", "Abc", "abc"),
        (r"a\h?b\z", "a b", "a  b"),
        (r"a(?i)b|c", "aB", "AB"),
        (r"a(?i)b|c", "C", "A"),
        (r"(a(?i)b)c", "aBc", "aBC"),
        (r"(?i:ab)c", "ABc", "ABC"),
        (r"(?i)a(?-i)b", "Ab", "AB"),
        (r"(?u)a", "a", "A"),
        (r"a++b", "aab", "ab+"),
        (r"(?>a|ab)c", "ac", "abc"),
        (r"(?!__).*", "orders", "__orders"),
        (r"(?<!x)y", "y", "x"),
        (r"a{2}b{1}", "aab", "ab"),
        (r"[]a]+", "]a", "b"),
        (r"\d+", "12", "\u0661"),
        (r"\w+", "ab_1", "\u00e4"),
        (r"a.b\.c", "axb.c", "axbxc"),
    ],
)
def test_java_patterns_mean_what_they_mean_in_java(pattern, matching, other):
    compiled = compile_java(pattern)
    assert compiled.fullmatch(matching)
    assert not compiled.fullmatch(other)


@pytest.mark.parametrize(
    ("pattern", "position"),
    [
        ("ab{x", 2),
        ("a{2", 1),
        ("ab)", 2),
        ("a(b", 3),
        ("a[b", 1),
        ("[a[bc]]", 2),
        ("[a-z&&[^b]]", 4),
        ("ab\\", 2),
        (r"a\y", 1),
        (r"\p{Greek}", 0),
        ("*a", 0),
        ("(?q)a", 0),
    ],
)
def test_what_cannot_be_said_is_refused_with_its_position(pattern, position):
    with pytest.raises(RegexError) as refusal:
        compile_java(pattern)
    assert refusal.value.position == position
    assert f"position {position + 1}" in str(refusal.value)


@given(st.text(alphabet=st.characters(min_codepoint=32, max_codepoint=126), max_size=20))
def test_any_text_either_compiles_or_is_refused(pattern):
    position = 0
    try:
        compile_java(pattern)
    except RegexError as refusal:
        position = refusal.position
    assert 0 <= position <= len(pattern)


@given(st.text(alphabet=st.characters(min_codepoint=33, max_codepoint=126), max_size=20))
def test_quoted_text_matches_itself(text):
    if "\\E" not in text and not text.endswith("\\"):
        assert compile_java(f"\\Q{text}\\E").fullmatch(text)
