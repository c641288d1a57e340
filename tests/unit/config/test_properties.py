import pytest
from hypothesis import given
from hypothesis import strategies as st
from javaproperties import dumps

from twinlog.config.text.properties import parse_properties
from twinlog.config.text.providers import expand, references_of_file


def parsed(text: bytes) -> dict[str, tuple[str, int]]:
    entries, _ = parse_properties(text, "f")
    return {entry.key: (entry.value, entry.line) for entry in entries.values()}


@pytest.mark.parametrize(
    ("text", "key", "value", "line"),
    [
        (b"a=1", "a", "1", 1),
        (b"# c\n! d\n\na : 1", "a", "1", 4),
        (b"a 1", "a", "1", 1),
        (b"  a  =  1  ", "a", "1  ", 1),
        (b"x=0\r\na=1\r\nb=2", "a", "1", 2),
        (b"x=0\ra=1", "a", "1", 2),
        (b"x=one,\\\n   two\na=1", "a", "1", 3),
        (b"x=0\na=one,\\\n   two", "a", "one,two", 2),
        (b"a=.*[\\-\\.]internal", "a", ".*[-.]internal", 1),
        (b"a=mm2.*\\\\.internal", "a", "mm2.*\\.internal", 1),
        (b"a=\\u00e9\\t!", "a", "\u00e9\t!", 1),
        (b"a=\xe9", "a", "\u00e9", 1),
        (b"A->B.topics=x", "A->B.topics", "x", 1),
        (b"k\\:x=1", "k:x", "1", 1),
        (b"a", "a", "", 1),
        (b"a=b=c", "a", "b=c", 1),
        (b"a=1\\\n# no comment", "a", "1# no comment", 1),
    ],
)
def test_java_rules_and_the_line_of_the_key(text, key, value, line):
    assert parsed(text)[key] == (value, line)


def test_the_last_of_equal_keys_counts_and_is_remarked():
    entries, findings = parse_properties(b"a=1\nb=2\na=3", "f.properties")
    assert entries["a"].value == "3"
    assert [(one.level, one.line, one.key) for one in findings] == [("warning", 3, "a")]
    assert "line 1" in str(findings[0])


def test_a_comment_behind_a_value_is_part_of_it_and_remarked():
    entries, findings = parse_properties(b"a=5 # often", "f")
    assert entries["a"].value == "5 # often"
    assert [one.level for one in findings] == ["warning"]


def test_a_broken_escape_is_an_error_with_its_line():
    _, findings = parse_properties(b"a=1\nb=one\\\n  \\u12x4", "f")
    assert [(one.level, one.line) for one in findings] == [("error", 3)]
    assert "\\u12x4" in findings[0].sentence


@given(st.dictionaries(st.text(max_size=10), st.text(max_size=30), max_size=5))
def test_what_java_would_write_is_read_back(properties):
    text = dumps(properties, timestamp=None).encode("latin-1")
    assert {key: value for key, (value, _) in parsed(text).items()} == properties


def expanded(text: str, **environment: str) -> tuple[dict[str, str], list[str]]:
    entries, _ = parse_properties(text.encode(), "f")
    filled, findings, _, _ = expand(entries, "f", references_of_file(entries, "f", environment))
    assert all(one.level == "error" for one in findings)
    return {entry.key: entry.value for entry in filled.values()}, [one.sentence for one in findings]


def test_providers_fill_in_values_once(tmp_path):
    (tmp_path / "s.properties").write_text("pw = p:1\nnested = ${env:USER}\n")
    (tmp_path / "token").write_text("t0")
    text = f"a=x-${{file:{tmp_path}/s.properties:pw}}-${{env:USER}}\nb=${{dir:{tmp_path}:token}}\n"
    text += f"c=${{file:{tmp_path}/s.properties:nested}}"
    values, problems = expanded(text, USER="u1")
    assert (values["a"], values["b"], values["c"]) == ("x-p:1-u1", "t0", "${env:USER}")
    assert problems == []


def test_providers_may_have_other_names():
    text = (
        "config.providers=e\n"
        "config.providers.e.class=org.apache.kafka.common.config.provider.EnvVarConfigProvider\n"
        "a=${e:USER}"
    )
    assert expanded(text, USER="u1") == ({**expanded(text, USER="u1")[0], "a": "u1"}, [])


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("a=${env:NOPE}", "no such variable"),
        ("a=${file:/nowhere/x:y}", "cannot be read"),
        ("a=${vault:x:y}", "no config provider is called vault"),
        ("a=${dir:/tmp:../etc/passwd}", "plain name"),
        ("config.providers=v\nconfig.providers.v.class=com.acme.Vault", "com.acme.Vault"),
        ("config.providers=v", "config.providers.v.class"),
    ],
)
def test_a_reference_that_leads_nowhere_is_an_error(text, told):
    assert any(told in problem for problem in expanded(text)[1])
