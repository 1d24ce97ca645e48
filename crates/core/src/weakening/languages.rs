//! How tests and skip marks look, language by language.

use super::language::Language;

const SLASHES: &[&str] = &["//"];
const HASH: &[&str] = &["#"];
const STARS: &[(&str, &str)] = &[("/*", "*/")];
const ROUND: &[(&str, &str)] = &[("(*", "*)")];

/// A language of which nothing is known; each entry of the table begins with it.
const PLAIN: Language = Language {
    name: "",
    extensions: &[],
    comments: &[],
    directives: &[],
    blocks: &[],
    quotes: &[],
    definitions: &[],
    skips: &[],
};

/// The languages in which tests are counted. Where two have an extension in
/// common, the first one counts.
pub const LANGUAGES: &[Language] = &[
    Language {
        name: "Rust",
        extensions: &["rs"],
        comments: SLASHES,
        blocks: STARS,
        definitions: &[
            r"#\[(?:\w+::)*(?:test|rstest|gtest|wasm_bindgen_test)(?:\]|\()",
            r"#\[(?:\w+::)*(?:test_case|quickcheck)\b",
        ],
        skips: &[
            r"#\[ignore\b",
            r"#\[cfg_attr\([^\n]*\bignore\b",
            r"#\[cfg\((?:any\(\)|not\(all\(\)\)|false|FALSE|never|disabled)\)\]",
        ],
        ..PLAIN
    },
    Language {
        name: "Python",
        extensions: &["py"],
        comments: HASH,
        quotes: &["\"\"\"", "'''"],
        definitions: &[r"^[ \t]*(?:async[ \t]+)?def[ \t]+test\w*[ \t]*\("],
        skips: &[
            r"\b(?:pytest|mark)\.(?:mark\.)?(?:skip|skipif|xfail|importorskip)\b",
            r"@(?:unittest\.)?(?:skip|skipIf|skipUnless|expectedFailure)\b",
            r"\.skipTest\(",
            r"\braise[ \t]+(?:\w+\.)*SkipTest\b",
            r"\b__test__[ \t]*=[ \t]*False\b",
            r"^collect_ignore(?:_glob)?\b",
            r"^[ \t]*if[ \t]+(?:False|0)[ \t]*:",
        ],
        ..PLAIN
    },
    Language {
        name: "JavaScript and TypeScript",
        extensions: &["js", "jsx", "mjs", "cjs", "ts", "tsx", "mts", "cts"],
        comments: SLASHES,
        blocks: STARS,
        definitions: &[
            r"(?:^|[;{}])[ \t]*(?:await[ \t]+)?(?:(?:t|Deno|QUnit|suite)\.)?(?:it|test|specify|xit|xtest|xspecify|fit)(?:\.(?:skip|skipIf|only|todo|fixme|failing|fails|each|for|concurrent|sequential|serial|runIf|ignore|extend)(?:\([^()\n]*\))?)*[ \t]*(?:\([ \t]*(?:['\x22`]|$|[\w$.]+[ \t]*,|\[)|`)",
        ],
        skips: &[
            r"\b(?:xit|xtest|xspecify|xdescribe|xcontext)(?:\.\w+)*[ \t]*\(",
            r"(?:^|[;{}])[ \t]*(?:fit|fdescribe|fcontext)[ \t]*\([ \t]*['\x22`]",
            r"\b(?:it|test|specify|describe|context|suite)(?:\.\w+)*?\.(?:skip|skipIf|only|todo|fixme|failing|fails|runIf|ignore)[ \t]*[(`.]",
            r"\b(?:this|t|ctx)\.(?:skip|todo)\([ \t]*(?:\)|['\x22`])",
            r"\b(?:it|test|describe|suite)\([^\n]*[{,][ \t]*(?:skip|only|todo|ignore)[ \t]*:[ \t]*(?:true\b|['\x22`])",
        ],
        ..PLAIN
    },
    Language {
        name: "Go",
        extensions: &["go"],
        comments: SLASHES,
        directives: &["//go:build ignore", "// +build ignore"],
        blocks: STARS,
        definitions: &[
            r"^func[ \t]+(?:Test|Fuzz|Example)\w*[ \t]*\(",
            r"^func[ \t]+\([^)\n]*\)[ \t]*Test\w*[ \t]*\(",
            r"\bt\.Run\([ \t]*\x22",
            r"(?:^|[;{}])[ \t]*(?:It|Specify|FIt|PIt|XIt)\([ \t]*[\x22`]",
        ],
        skips: &[
            r"\b(?:t|b|f|tb|(?:s|suite)\.T\(\))\.(?:Skip|Skipf|SkipNow)\(",
            r"(?:^|[;{}])[ \t]*(?:[FPX](?:It|Describe|Context|When)|Skip)\([ \t]*[\x22`]",
            r"^//(?:go:build|[ \t]*\+build)[ \t]+ignore\b",
        ],
        ..PLAIN
    },
    Language {
        name: "Java",
        extensions: &["java"],
        comments: SLASHES,
        blocks: STARS,
        definitions: JUNIT,
        skips: JUNIT_SKIPS,
        ..PLAIN
    },
    Language {
        name: "Kotlin",
        extensions: &["kt", "kts"],
        comments: SLASHES,
        blocks: STARS,
        definitions: &[
            JUNIT[0],
            r"(?:^|[;{}])[ \t]*x?(?:test|it|should|expect)\([ \t]*\x22",
        ],
        skips: &[
            JUNIT_SKIPS[0],
            JUNIT_SKIPS[1],
            JUNIT_SKIPS[2],
            r"\bx(?:test|it|should|expect|describe|context)\([ \t]*\x22",
            r"\.config\([^\n]*\benabled[ \t]*=[ \t]*false\b",
        ],
        ..PLAIN
    },
    Language {
        name: "Groovy",
        extensions: &["groovy"],
        comments: SLASHES,
        blocks: STARS,
        definitions: &[
            JUNIT[0],
            r"^[ \t]*(?:def|void)[ \t]+(?:\x22[^\x22\n]*\x22|'[^'\n]*')[ \t]*\(",
        ],
        skips: &[
            JUNIT_SKIPS[0],
            JUNIT_SKIPS[1],
            JUNIT_SKIPS[2],
            r"@(?:IgnoreIf|IgnoreRest|PendingFeature|Requires)\b",
        ],
        ..PLAIN
    },
    Language {
        name: "Scala",
        extensions: &["scala"],
        comments: SLASHES,
        blocks: STARS,
        definitions: &[
            JUNIT[0],
            r"(?:^|[;{}])[ \t]*(?:test|property|ignore)\([ \t]*\x22",
            r"\x22[ \t]+(?:in|ignore)[ \t]*(?:\{|$)",
            r"\x22[ \t]+>>[ \t]*\{",
        ],
        skips: &[
            JUNIT_SKIPS[0],
            JUNIT_SKIPS[1],
            JUNIT_SKIPS[2],
            r"(?:^|[;{}])[ \t]*ignore\([ \t]*\x22",
            r"\x22[ \t]+ignore[ \t]*(?:\{|$)",
            r"\x22\.(?:ignore|only|fail)\b",
            r"^[ \t]*(?:pending[ \t]*$|cancel\([ \t]*\x22)",
        ],
        ..PLAIN
    },
    Language {
        name: "Ruby",
        extensions: &["rb"],
        comments: HASH,
        blocks: &[("=begin", "=end")],
        definitions: &[
            r"^[ \t]*[xf]?(?:it|specify|example|scenario|test)[ \t]*(?:\([ \t]*)?['\x22]",
            r"^[ \t]*(?:it|specify)[ \t]*(?:\{|do\b)",
            r"^[ \t]*def[ \t]+test_\w+",
        ],
        skips: &[
            r"^[ \t]*[xf](?:it|specify|example|scenario|describe|context|feature)(?:[ \t]*\(?[ \t]*['\x22]|[ \t]+(?:do\b|[A-Z])|[ \t]*\{)",
            r"^[ \t]*(?:skip|pending|omit|pend)(?:[ \t]*$|[ \t]*\(|[ \t]+(?:['\x22]|if\b|unless\b))",
            r"^[ \t]*(?:it|specify|example|scenario|describe|context|feature|test)\b[^\n]*,[ \t]*(?::(?:skip|pending|focus)\b|(?:skip|pending|focus):[ \t]*(?:true\b|['\x22]))",
        ],
        ..PLAIN
    },
    Language {
        name: "PHP",
        extensions: &["php"],
        comments: &["//", "#"],
        directives: &["#[", "/** @test"],
        blocks: STARS,
        definitions: &[
            r"\bfunction[ \t]+test\w*[ \t]*\(",
            r"#\[(?:\w*\\)*Test\b",
            r"^[ \t]*/\*\*[ \t]*@test\b",
            r"^[ \t]*(?:it|test)\([ \t]*['\x22]",
        ],
        skips: &[
            r"\bmarkTest(?:Skipped|Incomplete)\(",
            r"(?:\}[ \t]*\)|^[ \t]*)->(?:skip\w*\([ \t]*(?:\)|['\x22])|(?:todo|only)\([ \t]*\))",
            r"#\[(?:\w*\\)*(?:Requires\w*|DoesNotPerformAssertions)\b",
        ],
        ..PLAIN
    },
    Language {
        name: "C, C++ and Objective-C",
        extensions: &[
            "c", "h", "cc", "cpp", "cxx", "c++", "hh", "hpp", "hxx", "m", "mm",
        ],
        comments: SLASHES,
        blocks: STARS,
        definitions: &[
            r"^[ \t]*(?:TEST|TEST_F|TEST_P|TYPED_TEST|TYPED_TEST_P|FUZZ_TEST|TEST_CASE|TEST_CASE_METHOD|TEST_CASE_FIXTURE|TEMPLATE_TEST_CASE|SCENARIO|TEST_METHOD|Test|CTEST|CTEST2|START_TEST|BOOST_AUTO_TEST_CASE|BOOST_FIXTURE_TEST_CASE|BOOST_DATA_TEST_CASE|BOOST_PARAM_TEST_CASE)[ \t]*\(",
            r"^(?:static[ \t]+)?(?:void|int|bool)[ \t]+test_\w+[ \t]*\([^)\n]*\)[ \t]*(?:\{|$)",
            r"^-[ \t]*\(void\)[ \t]*test\w*",
        ],
        skips: &[
            r"\bGTEST_SKIP\b",
            r"\bDISABLED_\w+",
            r"^[ \t]*(?:SKIP|TEST_IGNORE\w*|XCTSkip\w*|cr_skip\w*|skip)[ \t]*\(",
            r"\x22[^\x22\n]*\[(?:\.[^\]\n]*|!shouldfail|!mayfail|hide)\]",
            r"\bdoctest::(?:skip|may_fail|should_fail|expected_failures)\b",
            r"\bunit_test::(?:disabled|expected_failures)\b",
            r"^[ \t]*Test\([^\n]*\.disabled[ \t]*=[ \t]*(?:true|1)\b",
            r"^[ \t]*#[ \t]*if[ \t]+0\b",
        ],
        ..PLAIN
    },
    Language {
        name: "C#",
        extensions: &["cs"],
        comments: SLASHES,
        blocks: STARS,
        definitions: &[
            r"\[(?:\w+\.)*(?:\w*Fact|\w*Theory|Test|TestCase|TestCaseSource|TestMethod|DataTestMethod|Property)\b",
        ],
        skips: &[
            r"[\[,][ \t]*(?:\w+\.)*(?:Ignore|Explicit)\b",
            r"\bSkip[ \t]*=[ \t]*\$?@?\x22",
            r"\bAssert\.(?:Ignore|Inconclusive|Skip|SkipWhen|SkipUnless)\(",
            r"\bSkip\.If(?:Not)?\(",
            r"^[ \t]*#[ \t]*if[ \t]+(?:false|FALSE|NEVER)\b",
        ],
        ..PLAIN
    },
    Language {
        name: "F#",
        extensions: &["fs", "fsx"],
        comments: SLASHES,
        blocks: ROUND,
        definitions: &[
            r"\[<(?:\w+\.)*(?:\w*Fact|\w*Theory|Test|TestCase|TestMethod|Property)\b",
            r"\b[pf]?test(?:Case|Property|CaseAsync|Task)\w*[ \t]+\x22",
        ],
        skips: &[
            r"\[<[^\n]*\b(?:Ignore|Explicit)\b",
            r"\bSkip[ \t]*=[ \t]*\x22",
            r"\b[pf]test(?:Case|Property|List|CaseAsync|Task)\w*[ \t]+\x22",
        ],
        ..PLAIN
    },
    Language {
        name: "Swift",
        extensions: &["swift"],
        comments: SLASHES,
        blocks: STARS,
        definitions: &[
            r"\bfunc[ \t]+test\w*[ \t]*\(",
            r"@Test\b",
            r"^[ \t]*[xf]?it\([ \t]*\x22",
        ],
        skips: &[
            r"\bXCTSkip(?:If|Unless)?\b",
            r"\bXCTExpectFailure\b",
            r"@(?:Test|Suite)\b[^\n]*\.(?:disabled|enabled)\(",
            r"^[ \t]*[xf](?:it|describe|context)\([ \t]*\x22",
            r"^[ \t]*#if[ \t]+false\b",
        ],
        ..PLAIN
    },
    Language {
        name: "Elixir",
        extensions: &["ex", "exs"],
        comments: HASH,
        definitions: &[r"^[ \t]*(?:test|property|feature)[ \t(]+[\x22']"],
        skips: &[
            r"^[ \t]*@(?:tag|moduletag|describetag)[ \t(]+(?::(?:skip|pending|wip)\b|(?:skip|pending):)",
        ],
        ..PLAIN
    },
    Language {
        name: "Erlang",
        extensions: &["erl"],
        comments: &["%"],
        definitions: &[r"^\w+_test_?\([ \t]*\)[ \t]*->"],
        skips: &[r"\{[ \t]*skip[ \t]*,"],
        ..PLAIN
    },
    Language {
        name: "shell",
        extensions: &["sh", "bash", "bats", "zsh", "ksh"],
        comments: HASH,
        definitions: &[
            r"^[ \t]*@test[ \t]+",
            r"^[ \t]*(?:function[ \t]+)?test\w*[ \t]*\([ \t]*\)",
            r"^[ \t]*test_expect_(?:success|failure)\b",
            r"^[ \t]*[xf]?(?:It|Specify|Example)[ \t]+['\x22]",
        ],
        skips: &[
            r"(?:^|[;&|{])[ \t]*skip(?:[ \t]*$|[ \t]+['\x22$])",
            r"^[ \t]*startSkipping\b",
            r"^[ \t]*(?:[xf](?:It|Specify|Example|Describe|Context)|Skip|Pending)\b",
        ],
        ..PLAIN
    },
    Language {
        name: "Perl",
        extensions: &["t", "pl", "pm"],
        comments: HASH,
        blocks: &[("=pod", "=cut"), ("=head", "=cut"), ("=begin", "=cut")],
        definitions: &[
            r"^[ \t]*(?:ok|is|isnt|like|unlike|is_deeply|cmp_ok|can_ok|isa_ok|subtest)\b[ \t]*[($@%'\x22]",
        ],
        skips: &[
            r"\bskip_all\b",
            r"\b(?:skip|todo_skip)[ \t]*[(]?[ \t]*['\x22]",
            r"\blocal[ \t]+\$TODO\b",
        ],
        ..PLAIN
    },
    Language {
        name: "Dart",
        extensions: &["dart"],
        comments: SLASHES,
        blocks: STARS,
        definitions: &[
            r"(?:^|[;{}])[ \t]*(?:test|testWidgets|testGoldens|blocTest)(?:<[^\n]*>)?[ \t]*\(",
        ],
        skips: &[
            r"\bskip:[ \t]*(?:true\b|['\x22])",
            r"\bsolo:[ \t]*true\b",
            r"@Skip\b",
            r"\bmarkTestSkipped\(",
        ],
        ..PLAIN
    },
    Language {
        name: "Haskell",
        extensions: &["hs"],
        comments: &["--"],
        blocks: &[("{-", "-}")],
        definitions: &[
            r"(?:^|[ \t(\[,])[xf]?(?:it|prop|specify)[ \t]+\x22",
            r"\b(?:testCase|testProperty|testPropertyNamed)[ \t]+\x22",
            r"^prop_\w+[ \t]*::",
        ],
        skips: &[
            r"(?:^|[ \t(\[,])[xf](?:it|prop|specify|describe|context)[ \t]+\x22",
            r"(?:^|\$|\bdo\b)[ \t]*(?:pending[ \t]*$|pendingWith\b)",
            r"\b(?:ignoreTest|ignoreTestBecause|expectFail|expectFailBecause)\b",
        ],
        ..PLAIN
    },
    Language {
        name: "OCaml",
        extensions: &["ml"],
        blocks: ROUND,
        definitions: &[
            r"\blet%(?:test|test_unit|expect_test)\b",
            r"\btest_case[ \t]+\x22",
            r"\x22[ \t]*>::[ \t]",
        ],
        skips: &[r"\bskip_if\b", r"\[@tags[^\]\n]*\bdisabled\b"],
        ..PLAIN
    },
    Language {
        name: "Lua",
        extensions: &["lua"],
        comments: &["--"],
        blocks: &[("--[[", "]]")],
        definitions: &[
            r"^[ \t]*(?:it|test)[ \t]*\([ \t]*['\x22]",
            r"^[ \t]*function[ \t]+(?:\w+[.:])*[tT]est\w*[ \t]*\(",
        ],
        skips: &[
            r"^[ \t]*pending[ \t]*\([ \t]*['\x22]",
            r"\b(?:lu|luaunit)\.skip(?:If)?\(",
        ],
        ..PLAIN
    },
    Language {
        name: "R",
        extensions: &["R", "r"],
        comments: HASH,
        definitions: &[r"^[ \t]*(?:testthat::)?(?:test_that|it)\([ \t]*['\x22]"],
        skips: &[r"^[ \t]*(?:testthat::)?skip(?:_\w+)?\("],
        ..PLAIN
    },
    Language {
        name: "Julia",
        extensions: &["jl"],
        comments: HASH,
        blocks: &[("#=", "=#")],
        definitions: &[r"@(?:test|test_throws|testset|testitem|test_skip|test_broken)\b"],
        skips: &[
            r"@test_(?:skip|broken)\b",
            r"@test\b[^\n]*\b(?:skip|broken)[ \t]*=[ \t]*true\b",
        ],
        ..PLAIN
    },
    Language {
        name: "Clojure",
        extensions: &["clj", "cljs", "cljc"],
        comments: &[";", "#_"],
        definitions: &[r"\((?:\w+/)?(?:deftest|defspec)\b"],
        skips: &[r"\^:(?:\w+/)?skip\b"],
        ..PLAIN
    },
    Language {
        name: "Zig",
        extensions: &["zig"],
        comments: SLASHES,
        definitions: &[r"^[ \t]*test[ \t]+(?:\x22|\w+[ \t]*\{|\{)"],
        skips: &[r"\berror\.SkipZigTest\b"],
        ..PLAIN
    },
    Language {
        name: "PowerShell",
        extensions: &["ps1"],
        comments: HASH,
        blocks: &[("<#", "#>")],
        definitions: &[r"^[ \t]*It[ \t]+['\x22]"],
        skips: &[
            r"\bIt[ \t]+[^\n]*-(?:Skip|Pending)\b",
            r"\bSet-ItResult\b[^\n]*-(?:Skipped|Pending|Inconclusive)\b",
        ],
        ..PLAIN
    },
    Language {
        name: "Gherkin",
        extensions: &["feature"],
        comments: HASH,
        definitions: &[r"^[ \t]*(?:Scenario|Example|Scenario Outline|Scenario Template):"],
        skips: &[r"(?:^|[ \t])@(?:skip|ignore|ignored|wip|pending|disabled|manual)\b"],
        ..PLAIN
    },
];

const JUNIT: &[&str] = &[
    r"@(?:\w+\.)*(?:Test|ParameterizedTest|RepeatedTest|TestFactory|TestTemplate|Property|Theory)\b",
];

const JUNIT_SKIPS: &[&str] = &[
    r"@(?:\w+\.)*(?:Disabled\w*|Enabled(?:If|On|For)\w*|Ignore)\b",
    r"\bassum(?:e|ing)(?:True|False|That|Not\w+|No\w+)[ \t]*\(",
    r"@Test[ \t]*\([^)\n]*\benabled[ \t]*=[ \t]*false\b",
];

#[cfg(test)]
mod tests {
    use piton_simkit::seed::cases;
    use proptest::prelude::*;

    use super::super::counting::count_tests;
    use super::*;

    /// How many definitions and skip marks a file holds.
    #[track_caller]
    fn check(path: &str, text: &str, definitions: u32, skips: u32) {
        let found = count_tests(path, text);
        assert_eq!(
            (found.definitions, found.skips),
            (definitions, skips),
            "{path}: {text}"
        );
    }

    #[test]
    fn every_language_has_forms_that_compile_and_extensions_of_its_own() {
        let mut extensions = Vec::new();
        for language in LANGUAGES {
            assert!(!language.definitions.is_empty(), "{}", language.name);
            assert!(!language.skips.is_empty(), "{}", language.name);
            for extension in language.extensions {
                check(&format!("x.{extension}"), "", 0, 0);
                extensions.push(*extension);
            }
        }
        let count = extensions.len();
        extensions.sort_unstable();
        extensions.dedup();
        assert_eq!(extensions.len(), count);
    }

    #[test]
    fn the_guide_names_every_language() {
        let guide = include_str!("../../../../docs/guide/evidence.md");
        for language in LANGUAGES {
            assert!(guide.contains(language.name), "{}", language.name);
        }
    }

    #[test]
    fn what_is_no_source_has_no_tests() {
        for path in ["README.md", "Makefile", "test", "a/test.rs/x", ""] {
            check(path, "#[test]\nfn a() {}\n", 0, 0);
        }
    }

    #[test]
    fn rust() {
        check("a/b.rs", "#[test]\nfn a() {}\n\n  #[test] fn b() {}", 2, 0);
        check(
            "a.rs",
            "#[tokio::test]\n#[tokio::test(flavor = \"x\")]",
            2,
            0,
        );
        check("a.rs", "#[rstest]\n#[cfg(test)]\nmod tests {}", 1, 0);
        check("a.rs", "#[test]\n#[ignore]\nfn a() {}", 1, 1);
        check("a.rs", "#[test]\n#[ignore = \"slow\"]\n", 1, 1);
        check("a.rs", "#[cfg_attr(windows, ignore)]\n#[test]", 1, 1);
        check("a.rs", "#[cfg(any())]\nmod tests {\n#[test]\n}", 1, 1);
        check("a.rs", "fn test() { test(1); it(\"x\") }", 0, 0);
    }

    #[test]
    fn python() {
        check("t.py", "def test_a():\n  pass\nasync def test_b(x):", 2, 0);
        check("t.py", "class T:\n    def test_a(self):\n", 1, 0);
        check("t.py", "def attest():\ntest_a()\n", 0, 0);
        check("t.py", "@pytest.mark.skip\ndef test_a():", 1, 1);
        check("t.py", "@pytest.mark.skipif(True, reason='')\n", 0, 1);
        check(
            "t.py",
            "@mark.skip()\n@unittest.skip('x')\n@skipIf(a)",
            0,
            3,
        );
        check("t.py", "pytestmark = pytest.mark.skip('x')", 0, 1);
        check("t.py", "  pytest.skip('x')\n  self.skipTest('x')", 0, 2);
        check(
            "t.py",
            "  raise unittest.SkipTest('x')\n__test__ = False",
            0,
            2,
        );
        check("t.py", "if False:\n    def test_a():", 1, 1);
    }

    #[test]
    fn a_python_test_within_a_text_is_none() {
        let wrapped = "x = 1\n\"\"\"\ndef test_a():\n    pass\n\"\"\"\ndef test_b():";
        check("t.py", wrapped, 1, 0);
        let around = "SQL = '''\ndef test_a():\n'''\ndef test_b():";
        check("t.py", around, 1, 0);
        let docs = "\"\"\"Tests.\"\"\"\ndef test_a():\n    '''One.'''\ndef test_b():";
        check("t.py", docs, 2, 0);
        let quoted = "a = \"'''\"  # \"\"\"\nb = 'it\\'s \"\"\"'\ndef test_a():";
        check("t.py", quoted, 1, 0);
        check("t.py", "a = 'not closed\ndef test_a():", 1, 0);
        check("t.py", "a = \"\"\"x\"\"\".strip()\ndef test_a():", 1, 0);
    }

    #[test]
    fn javascript() {
        check("a.test.js", "test('a', () => {});\n  it(\"b\", f)", 2, 0);
        check("a.tsx", "it(`a ${b}`, async () => {})", 1, 0);
        check("a.mjs", "it('a', f); it('b', f)", 2, 0);
        check("a.js", "describe('x', () => { it('a', f) })", 1, 0);
        check("a.js", "test.each([1, 2])('a %d', f)\nit.each`\n", 2, 0);
        check("a.js", "test.each([\n  [1],\n])('a', f)", 1, 0);
        check("a.js", "it(\n  'long',\n)\nit(name, f)", 2, 0);
        check("a.js", "await t.test('a', f)\nDeno.test('b', f)", 2, 0);
        check("a.js", "describe('x', f)\ntest.beforeEach(f)\n", 0, 0);
        check("a.js", "if (re.test(x)) edit('x'); submit('y')", 0, 0);
        check("a.js", "it.skip('a', f)\nxit('b', f)\ntest.todo('c')", 3, 3);
        check("a.js", "describe.skip('a', f)\nxdescribe('b', f)", 0, 2);
        check(
            "a.js",
            "it.only('a', f)\nfit('b', f)\ndescribe.only('c')",
            2,
            3,
        );
        check("a.js", "it.concurrent.skip('a', f)", 1, 1);
        check("a.js", "test.skipIf(process.env.CI)('a', f)", 1, 1);
        check("a.js", "test('a', { skip: true }, f)", 1, 1);
        check("a.js", "test('a', { timeout: 1, only: true }, f)", 1, 1);
        check("a.js", "  this.skip()\n  t.skip('x')", 0, 2);
    }

    #[test]
    fn go() {
        check(
            "a_test.go",
            "func TestA(t *testing.T) {\n}\nfunc FuzzA(",
            2,
            0,
        );
        check("a_test.go", "func (s *Suite) TestA() {", 1, 0);
        check("a_test.go", "\tt.Run(\"one\", func(t *testing.T) {", 1, 0);
        check(
            "a_test.go",
            "func testHelper(t *testing.T) {\nt.Run(name, f)",
            0,
            0,
        );
        check(
            "a_test.go",
            "\tt.Skip(\"x\")\n\tt.SkipNow()\n\tt.Skipf(\"\")",
            0,
            3,
        );
        check(
            "a_test.go",
            "\tIt(\"works\", func() {\n\tPIt(\"not\", func() {",
            2,
            1,
        );
        check("a_test.go", "//go:build ignore\n\npackage a", 0, 1);
        check("a_test.go", "//go:build linux\n", 0, 0);
    }

    #[test]
    fn on_the_jvm() {
        check(
            "A.java",
            "  @Test\n  void a() {}\n  @ParameterizedTest",
            2,
            0,
        );
        check(
            "A.java",
            "@TestInstance(X)\nclass A { @Test void a() {} }",
            1,
            0,
        );
        check(
            "A.java",
            "@Disabled(\"x\")\n@Test\n@DisabledOnOs(X)\n@Ignore",
            1,
            3,
        );
        check(
            "A.java",
            "@Test(enabled = false)\n@IgnoreExtraProperties",
            1,
            1,
        );
        check("A.java", "assumeTrue(x);", 0, 1);
        check(
            "A.kt",
            "@Test fun a() {}\n  test(\"b\") {\n  xtest(\"c\") {",
            3,
            1,
        );
        check("A.groovy", "def \"a works\"() {\n@IgnoreIf({ x })", 1, 1);
        check("A.scala", "test(\"a\") {\n  it should \"b\" in {\n", 2, 0);
        check(
            "A.scala",
            "ignore(\"a\") {\n\"b\" should \"c\" ignore {\n",
            2,
            2,
        );
        check("A.scala", "test(\"a\".ignore) {", 1, 1);
    }

    #[test]
    fn ruby_php_and_perl() {
        check(
            "a_spec.rb",
            "it 'a' do\n  it(\"b\") { }\n  it { is_expected }",
            3,
            0,
        );
        check("a_test.rb", "  def test_a\n  test \"b\" do", 2, 0);
        check(
            "a_spec.rb",
            "xit 'a' do\nskip\npending 'x'\nskip_before_action",
            1,
            3,
        );
        check("a_spec.rb", "it 'a', :skip do\nit 'b', skip: 'x' do", 2, 2);
        check("a_spec.rb", "=begin\nit 'a' do\n=end\nit 'b' do", 1, 0);
        check(
            "ATest.php",
            "public function testA(): void {\n#[Test]\n",
            2,
            0,
        );
        check("ATest.php", "/** @test */\nit('works', function () {", 2, 0);
        check(
            "ATest.php",
            "$this->markTestSkipped('x');\n})->skip();",
            0,
            2,
        );
        check(
            "a.t",
            "ok($x, 'a');\nis_deeply $a, $b;\nsubtest 'c' => sub {",
            3,
            0,
        );
        check("a.t", "plan skip_all => 'x';\nskip 'x', 2;", 0, 2);
    }

    #[test]
    fn in_the_family_of_c() {
        check(
            "a.cc",
            "TEST(A, B) {\nTEST_F(A, C) {\nTEST_CASE(\"x\") {",
            3,
            0,
        );
        check(
            "a.c",
            "static void test_a(void)\n{\nvoid test_b(void) {",
            2,
            0,
        );
        check("a.c", "void test_a(void);\n  test_a();", 0, 0);
        check("a.cc", "TEST(A, DISABLED_B) {\n  GTEST_SKIP() << 1;", 1, 2);
        check(
            "a.cc",
            "TEST_CASE(\"a\", \"[.slow]\") {\n  SKIP(\"x\");",
            1,
            2,
        );
        check("a.c", "#if 0\nvoid test_a(void) {\n#endif", 1, 1);
        check(
            "a.cs",
            "[Fact]\n[Theory]\n[Test, Ignore(\"x\")]\n[TestFixture]",
            3,
            1,
        );
        check("a.cs", "[Fact(Skip = \"x\")]\n[TestMethod]\n[Ignore]", 2, 2);
        check("a.fs", "[<Fact>]\nptestCase \"a\" <| fun", 2, 1);
        check(
            "a.swift",
            "  func testA() throws {\n@Test func b() {}",
            2,
            0,
        );
        check(
            "a.swift",
            "throw XCTSkip(\"x\")\n@Test(.disabled(\"y\"))",
            1,
            2,
        );
        check("a.m", "- (void)testA {", 1, 0);
    }

    #[test]
    fn in_shells() {
        check(
            "a.bats",
            "@test \"a\" {\n  skip \"x\"\n}\n@test 'b' {",
            2,
            1,
        );
        check(
            "a.sh",
            "test_a() {\n}\ntestB () {\nfunction test_c() {",
            3,
            0,
        );
        check("a.sh", "test -f x && echo\n[ -f x ] || skip 'none'", 0, 1);
        check("a.sh", "test_expect_success 'a' '\n", 1, 0);
        check("a.ps1", "It 'a' {\nIt 'b' -Skip {", 2, 1);
    }

    #[test]
    fn in_functional_languages() {
        check(
            "a.exs",
            "test \"a\" do\n@tag :skip\ntest \"b\", %{c: c} do",
            2,
            1,
        );
        check("a.exs", "@tag skip: \"x\"\n@moduletag :pending", 0, 2);
        check("a.erl", "add_test() ->\n  {skip, x}.", 1, 1);
        check("A.hs", "  it \"a\" $ do\n  xit \"b\" $ do\n  pending", 2, 2);
        check(
            "A.hs",
            "{-\n  it \"a\"\n-}\n-- it \"b\"\nprop_x :: Int",
            1,
            0,
        );
        check("a.ml", "let%test \"a\" = true\n(* let%test \"b\" *)", 1, 0);
        check(
            "a.clj",
            "(deftest a)\n#_ (deftest b)\n(deftest ^:skip c)",
            2,
            1,
        );
    }

    #[test]
    fn in_other_languages() {
        check(
            "a.dart",
            "test('a', () {\ntestWidgets('b', (t) async {",
            2,
            0,
        );
        check("a.dart", "test('a', () {}, skip: true);\n@Skip('x')", 1, 2);
        check(
            "a.lua",
            "it('a', function()\npending('b')\n--[[\nit('c')\n]]",
            1,
            1,
        );
        check("a.R", "test_that(\"a\", {\n  skip_on_cran()", 1, 1);
        check(
            "a.jl",
            "@testset \"a\" begin\n  @test x\n  @test_skip y",
            3,
            1,
        );
        check("a.zig", "test \"a\" {\n  return error.SkipZigTest;", 1, 1);
        check(
            "a.feature",
            "  Scenario: a\n  @wip\n  Scenario Outline: b",
            2,
            1,
        );
    }

    #[test]
    fn what_looks_alike_in_other_code_is_no_mark() {
        check(
            "a.ts",
            "useQuery(q, { skip: true });\nadd({ todo: 'milk' })",
            0,
            0,
        );
        check("a.ts", "list.skip(3); this.skip(n); pick.only('a')", 0, 0);
        check("a.php", "$users->skip(10);\n    ->only(['a'])", 0, 0);
        check("a.kt", "Button(enabled = false)", 0, 0);
        check("a.swift", "Button().disabled(true)", 0, 0);
        check("a.rb", "create(:order, pending: true)\nfit image", 0, 0);
        check("A.hs", "pending <- readQueue", 0, 0);
        check("a.c", "button.disabled = true;", 0, 0);
        check("a.go", "s.Skip(4)", 0, 0);
    }

    #[test]
    fn a_test_that_is_commented_out_is_no_test() {
        check("a.rs", "// #[test]\n/*\n#[test]\n*/\n#[test]", 1, 0);
        check("a.rs", "/* a */ #[test]", 1, 0);
        check("a.py", "# def test_a():\n    # @pytest.mark.skip\n", 0, 0);
        check("a.js", "// it('a', f)\n/* it('b', f) */\n", 0, 0);
        check("a.js", "const all = 'src/**/*.js';\nit('a', f)", 1, 0);
        check("a.sh", "# @test 'a' {", 0, 0);
    }

    #[test]
    fn line_ends_of_windows_count_alike() {
        check("a.rs", "#[test]\r\nfn a() {}\r\n// #[test]\r\n", 1, 0);
        check("a.js", "it(\r\n  'a',\r\n  f)\r\n", 1, 0);
    }

    proptest! {
        #![proptest_config(cases(256))]

        #[test]
        fn counting_never_panics_on_any_text(
            index in 0..LANGUAGES.len(),
            text in "(#\\[test\\]|it\\(|\"{1,3}|'{1,3}|/\\*|\\*/|--\\[\\[|\\{-|=begin|\\\\|\r?\n|[ä\\PC]|\\PC{0,4}){0,60}",
        ) {
            for extension in LANGUAGES[index].extensions {
                let found = count_tests(&format!("x.{extension}"), &text);
                prop_assert!(found.definitions as usize <= text.len());
                prop_assert!(found.skips as usize <= text.len());
            }
        }
    }
}
