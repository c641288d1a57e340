import re
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twinlog.model.javaregex import RegexError, _Translation, compile_java


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


HOSTILE = (
    r"(.+)+!",
    r"(a|a)*!",
    r"(a|aa)+!",
    r"([a-z]+)*[0-9]",
    r".*.*.*.*.*.*.*.*!",
    r"(?:[a-z.]+\.?)+_",
    r"(x+x+)+y",
    r"(?!b)(.+)+!",
    r"(.+)+\1!",
    r"(?=.*)(a*)*b",
    r"(?!b).*.*.*.*.*.*!",
    r"(?!b)(?:a{1,50}){1,50}!",
    "a?" * 60 + "a" * 300,
    "(?!b)" + "a?" * 60 + "a" * 300,
    r"(?!b)(a|a)*!",
)


@pytest.mark.proves("R11")
@pytest.mark.parametrize("pattern", HOSTILE)
def test_a_hostile_pattern_is_refused_or_answers_at_once(pattern):
    """In a process of its own: a pattern that backtracks for ever cannot be interrupted in this one."""
    code = (
        "import sys; from twinlog.model.javaregex import RegexError, compile_java\n"
        "try: print(bool(compile_java(sys.argv[1]).fullmatch(249 * 'a')))\n"
        "except RegexError: print('refused')"
    )
    told = subprocess.run([sys.executable, "-c", code, pattern], capture_output=True, text=True, timeout=20, check=True)
    assert told.stdout.strip() in {"False", "refused"}


@pytest.mark.parametrize(
    ("pattern", "matching", "other"),
    [
        (r"(?:[a-z]+\.)+events", "shop.eu.events", "shop.eu.event"),
        (r"^(?!.*internal).*$", "orders", "orders.internal"),
        (r"(?!__)[a-z]+(?<!-dev)", "orders", "orders-dev"),
        (r"(?!__)(?:eu|us)\.[a-z]+\.v[0-9]+", "eu.orders.v2", "asia.orders.v2"),
    ],
)
def test_honest_patterns_with_repetitions_still_work(pattern, matching, other):
    compiled = compile_java(pattern)
    assert compiled.fullmatch(matching)
    assert not compiled.fullmatch(other)


PARTS = ("a", "b", ".", "[ab]", "(a|b)", "a*", "b+", ".*", "(?:ab)?", r"\.", "(?i)", "|", "(a*b)+", r"b\z")


@given(st.lists(st.sampled_from(PARTS), max_size=6), st.text("abAB.", max_size=8))
def test_both_ways_to_match_agree(parts, name):
    pattern = "".join(parts)
    wanted = re.compile(_Translation(pattern).run(), re.ASCII).fullmatch(name) is not None
    assert (compile_java(pattern).fullmatch(name) is not None) == wanted
