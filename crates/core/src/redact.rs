//! Taking secrets out of text before it is kept or shown.
//!
//! Two sources: common forms of keys, by rule, and the values of environment
//! variables whose names look secret, handed in by the caller. A cheap scan
//! for the fixed part of each rule comes first, so that text without any
//! costs one pass and no regular expression is even compiled. A short text is
//! scanned as it is; only a longer one is worth the automaton, which takes as
//! long to build as a short command may take in all.
//!
//! The rules follow the forms that the vendors document; the list of gitleaks
//! (MIT) served to see which ones are met.

use std::borrow::Cow;
use std::sync::OnceLock;

use aho_corasick::{AhoCorasick, MatchKind};
use regex::Regex;
use serde_json::{Map, Value};

struct RedactionRule {
    name: &'static str,
    /// Fixed parts, compared without regard to ASCII case: without one of them the rule cannot fit.
    hints: &'static [&'static str],
    /// What must come after a fixed part, or the rule cannot fit there.
    after: HintSuffix,
    /// The form. A group named `secret` narrows what is taken out. One that
    /// begins with `\b` begins with a fixed part.
    form: &'static str,
}

/// What comes after the fixed part of a rule. Many a fixed part stands in
/// ordinary words (`task-1`, `msg.`, `the token`), and a regular expression
/// takes a millisecond to compile, a third of a short command.
#[derive(Clone, Copy)]
enum HintSuffix {
    /// At least so many characters of visible ASCII, blanks before them or not.
    Run(usize),
    /// `=` or `:`, or what may be one in a URL, a quotation mark (escaped any number of times) or blanks before it or not.
    Assignment,
    /// An `@` before the next blank.
    Login,
    /// Whatever.
    Anything,
}

impl HintSuffix {
    fn is_satisfied_by(self, rest: &str) -> bool {
        match self {
            Self::Run(least) => {
                let run = rest.trim_start().bytes();
                run.take_while(u8::is_ascii_graphic).take(least).count() == least
            }
            Self::Assignment => rest
                .trim_start_matches(['"', '\'', '\\'])
                .trim_start()
                .starts_with(['=', ':', '%']),
            Self::Login => {
                let mut word = rest.chars().take_while(|c| !c.is_whitespace());
                word.any(|c| c == '@')
            }
            Self::Anything => true,
        }
    }
}

impl RedactionRule {
    /// Whether the form may fit where a fixed part of it stands in the text.
    fn can_match_at(&self, text: &str, from: usize, to: usize) -> bool {
        let within_a_word = || {
            let before = text.as_bytes().get(from.wrapping_sub(1));
            before.is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
        };
        self.after.is_satisfied_by(&text[to..])
            && !(self.form.starts_with(r"\b") && within_a_word())
    }
}

const RULES: &[RedactionRule] = &[
    RedactionRule {
        name: "private-key",
        hints: &["-----begin"],
        after: HintSuffix::Anything,
        form: r#"(?s)-----BEGIN [A-Z0-9 ]*PRIVATE KEY( BLOCK)?-----(\\+[nr]|\s)*(?P<secret>[^"'<>]*?)(\\+[nr]|\s)*(-----END [A-Z0-9 ]*PRIVATE KEY( BLOCK)?-----|\\*["'<>]|\z)"#,
    },
    RedactionRule {
        name: "github-token",
        hints: &["ghp_", "gho_", "ghu_", "ghs_", "ghr_"],
        after: HintSuffix::Run(30),
        form: r"\bgh[pousr]_[A-Za-z0-9]{30,255}\b",
    },
    RedactionRule {
        name: "github-token",
        hints: &["github_pat_"],
        after: HintSuffix::Run(22),
        form: r"\bgithub_pat_[A-Za-z0-9_]{22,255}\b",
    },
    RedactionRule {
        name: "gitlab-token",
        hints: &[
            "glpat-", "gldt-", "glrt-", "glcbt-", "glft-", "glagent-", "glptt-", "glsoat-",
            "glimt-",
        ],
        after: HintSuffix::Run(20),
        form: r"\bgl(pat|dt|rt|cbt|ft|agent|ptt|soat|imt)-[A-Za-z0-9_\-]{20,}",
    },
    RedactionRule {
        name: "anthropic-key",
        hints: &["sk-ant-"],
        after: HintSuffix::Run(16),
        form: r"\bsk-ant-[A-Za-z0-9_\-]{16,}",
    },
    RedactionRule {
        name: "openai-key",
        hints: &["sk-"],
        after: HintSuffix::Run(20),
        form: r"\bsk-(proj-|svcacct-|admin-|or-v1-)?[A-Za-z0-9_\-]{20,}",
    },
    RedactionRule {
        name: "aws-access-key",
        hints: &["akia", "asia", "abia", "acca"],
        after: HintSuffix::Run(16),
        form: r"\b(AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}\b",
    },
    RedactionRule {
        name: "google-key",
        hints: &["aiza"],
        after: HintSuffix::Run(35),
        form: r"\bAIza[A-Za-z0-9_\-]{35}",
    },
    RedactionRule {
        name: "google-oauth",
        hints: &["ya29."],
        after: HintSuffix::Run(20),
        form: r"\bya29\.[A-Za-z0-9_\-]{20,}",
    },
    RedactionRule {
        name: "slack-token",
        hints: &["xoxb-", "xoxa-", "xoxp-", "xoxr-", "xoxs-", "xapp-"],
        after: HintSuffix::Run(10),
        form: r"\b(xox[abprs]|xapp)-[A-Za-z0-9\-]{10,}",
    },
    RedactionRule {
        name: "slack-webhook",
        hints: &["hooks.slack.com"],
        after: HintSuffix::Run(30),
        form: r"https://hooks\.slack\.com/(services|workflows)/(?P<secret>[A-Za-z0-9/+_\-]{20,})",
    },
    RedactionRule {
        name: "stripe-key",
        hints: &["sk_live_", "sk_test_", "rk_live_", "rk_test_", "whsec_"],
        after: HintSuffix::Run(16),
        form: r"\b((sk|rk)_(live|test)|whsec)_[A-Za-z0-9]{16,}",
    },
    RedactionRule {
        name: "npm-token",
        hints: &["npm_"],
        after: HintSuffix::Run(36),
        form: r"\bnpm_[A-Za-z0-9]{36}\b",
    },
    RedactionRule {
        name: "pypi-token",
        hints: &["pypi-"],
        after: HintSuffix::Run(50),
        form: r"\bpypi-[A-Za-z0-9_\-]{50,}",
    },
    RedactionRule {
        name: "crates-token",
        hints: &["cio"],
        after: HintSuffix::Run(32),
        form: r"\bcio[A-Za-z0-9]{32}\b",
    },
    RedactionRule {
        name: "huggingface-token",
        hints: &["hf_"],
        after: HintSuffix::Run(30),
        form: r"\bhf_[A-Za-z0-9]{30,}\b",
    },
    RedactionRule {
        name: "sendgrid-key",
        hints: &["sg."],
        after: HintSuffix::Run(33),
        form: r"\bSG\.[A-Za-z0-9_\-]{16,}\.[A-Za-z0-9_\-]{16,}",
    },
    RedactionRule {
        name: "digitalocean-token",
        hints: &["dop_v1_", "doo_v1_", "dor_v1_"],
        after: HintSuffix::Run(64),
        form: r"\bdo[opr]_v1_[a-f0-9]{64}\b",
    },
    RedactionRule {
        name: "linear-key",
        hints: &["lin_api_", "lin_oauth_"],
        after: HintSuffix::Run(32),
        form: r"\blin_(api|oauth)_[A-Za-z0-9]{32,}",
    },
    RedactionRule {
        name: "databricks-token",
        hints: &["dapi"],
        after: HintSuffix::Run(32),
        form: r"\bdapi[a-f0-9]{32}\b",
    },
    RedactionRule {
        name: "age-key",
        hints: &["age-secret-key-"],
        after: HintSuffix::Run(51),
        form: r"\bAGE-SECRET-KEY-1[A-Z0-9]{50,}",
    },
    RedactionRule {
        name: "aws-bedrock-key",
        hints: &["absk"],
        after: HintSuffix::Run(100),
        form: r"\bABSK[A-Za-z0-9+/]{100,}=*",
    },
    RedactionRule {
        name: "google-refresh-token",
        hints: &["1//0"],
        after: HintSuffix::Run(40),
        form: r"\b1//0[A-Za-z0-9_\-]{40,}",
    },
    RedactionRule {
        name: "google-client-secret",
        hints: &["gocspx-"],
        after: HintSuffix::Run(28),
        form: r"\bGOCSPX-[A-Za-z0-9_\-]{28,}",
    },
    RedactionRule {
        name: "rubygems-key",
        hints: &["rubygems_"],
        after: HintSuffix::Run(48),
        form: r"\brubygems_[a-f0-9]{48}\b",
    },
    RedactionRule {
        name: "docker-token",
        hints: &["dckr_pat_", "dckr_oat_"],
        after: HintSuffix::Run(24),
        form: r"\bdckr_(pat|oat)_[A-Za-z0-9_\-]{24,}",
    },
    RedactionRule {
        name: "mailgun-key",
        hints: &["key-"],
        after: HintSuffix::Run(32),
        form: r"\bkey-[a-f0-9]{32}\b",
    },
    RedactionRule {
        name: "notion-token",
        hints: &["ntn_", "secret_"],
        after: HintSuffix::Run(40),
        form: r"\b(ntn_[A-Za-z0-9]{40,}|secret_[A-Za-z0-9]{43}\b)",
    },
    RedactionRule {
        name: "shopify-token",
        hints: &["shpat_", "shpss_", "shpca_", "shppa_"],
        after: HintSuffix::Run(32),
        form: r"\bshp(at|ss|ca|pa)_[A-Fa-f0-9]{32}\b",
    },
    RedactionRule {
        name: "telegram-token",
        hints: &[":aa"],
        after: HintSuffix::Run(33),
        form: r"(^|[^A-Za-z0-9\\])(?P<secret>[0-9]{8,10}:AA[A-Za-z0-9_\-]{33})",
    },
    RedactionRule {
        name: "twilio-key",
        hints: &["sk"],
        after: HintSuffix::Run(32),
        form: r"\bSK[a-f0-9]{32}\b",
    },
    RedactionRule {
        name: "vault-token",
        hints: &["hvs.", "hvb.", "hvr."],
        after: HintSuffix::Run(24),
        form: r"\bhv[sbr]\.[A-Za-z0-9_\-]{24,}",
    },
    RedactionRule {
        name: "azure-client-secret",
        hints: &["q~"],
        after: HintSuffix::Run(31),
        form: r"(^|[^A-Za-z0-9\\])(?P<secret>[A-Za-z0-9_~.\-]{3}[0-9]Q~[A-Za-z0-9_~.\-]{31,34})",
    },
    RedactionRule {
        name: "azure-signature",
        hints: &["sig="],
        after: HintSuffix::Run(40),
        form: r"[?&]sig=(?P<secret>[A-Za-z0-9%+/_\-]{40,}=*)",
    },
    RedactionRule {
        name: "discord-webhook",
        hints: &["/api/webhooks/"],
        after: HintSuffix::Run(60),
        form: r"/api/webhooks/[0-9]+/(?P<secret>[A-Za-z0-9_\-]{60,})",
    },
    RedactionRule {
        name: "doppler-token",
        hints: &["dp.st.", "dp.pt.", "dp.ct.", "dp.sa."],
        after: HintSuffix::Run(40),
        form: r"\bdp\.(st|pt|ct|sa)\.([a-z0-9_\-]+\.)?[A-Za-z0-9]{40,}",
    },
    RedactionRule {
        name: "figma-token",
        hints: &["figd_"],
        after: HintSuffix::Run(40),
        form: r"\bfigd_[A-Za-z0-9_\-]{40,}",
    },
    RedactionRule {
        name: "grafana-token",
        hints: &["glsa_", "glc_"],
        after: HintSuffix::Run(32),
        form: r"\b(glsa_[A-Za-z0-9]{32}_[a-f0-9]{8}|glc_[A-Za-z0-9+/]{32,}=*)",
    },
    RedactionRule {
        name: "sentry-token",
        hints: &["sntrys_", "sntryu_"],
        after: HintSuffix::Run(50),
        form: r"\b(sntrys_[A-Za-z0-9+/=_\-]{50,}|sntryu_[a-f0-9]{64}\b)",
    },
    RedactionRule {
        name: "sentry-dsn",
        hints: &["://"],
        after: HintSuffix::Run(32),
        form: r"://(?P<secret>[a-f0-9]{32})@[A-Za-z0-9.\-]*sentry\.io/",
    },
    RedactionRule {
        name: "newrelic-key",
        hints: &["nrak-", "nrjs-", "nrii-", "nrra-"],
        after: HintSuffix::Run(19),
        form: r"\bNR(AK|JS|II|RA)-[A-Za-z0-9_\-]{19,}",
    },
    RedactionRule {
        name: "square-token",
        hints: &["sq0atp-", "sq0csp-"],
        after: HintSuffix::Run(22),
        form: r"\bsq0(atp|csp)-[A-Za-z0-9_\-]{22,}",
    },
    RedactionRule {
        name: "facebook-token",
        hints: &["eaa"],
        after: HintSuffix::Run(60),
        form: r"\bEAA(A[A-Za-z0-9_\-]{59,}|[A-Za-z0-9]{90,})",
    },
    RedactionRule {
        name: "postman-key",
        hints: &["pmak-"],
        after: HintSuffix::Run(59),
        form: r"\bPMAK-[a-f0-9]{24}-[a-f0-9]{34}\b",
    },
    RedactionRule {
        name: "pulumi-token",
        hints: &["pul-"],
        after: HintSuffix::Run(40),
        form: r"\bpul-[a-f0-9]{40}\b",
    },
    RedactionRule {
        name: "supabase-key",
        hints: &["sbp_", "sb_secret_"],
        after: HintSuffix::Run(31),
        form: r"\b(sbp_[a-f0-9]{40}\b|sb_secret_[A-Za-z0-9_\-]{31,})",
    },
    RedactionRule {
        name: "fly-token",
        hints: &["fm2_", "fo1_"],
        after: HintSuffix::Run(40),
        form: r"\b(fm2_[A-Za-z0-9+/]{40,}=*|fo1_[A-Za-z0-9_\-]{40,})",
    },
    RedactionRule {
        name: "airtable-token",
        hints: &["pat"],
        after: HintSuffix::Run(79),
        form: r"\bpat[A-Za-z0-9]{14}\.[a-f0-9]{64}\b",
    },
    RedactionRule {
        name: "atlassian-token",
        hints: &["atatt3", "atbb"],
        after: HintSuffix::Run(32),
        form: r"\b(ATATT3[A-Za-z0-9_\-=]{100,}|ATBB[A-Za-z0-9]{32}\b)",
    },
    RedactionRule {
        name: "dropbox-token",
        hints: &["sl.b"],
        after: HintSuffix::Run(60),
        form: r"\bsl\.B[A-Za-z0-9_\-]{60,}",
    },
    RedactionRule {
        name: "replicate-token",
        hints: &["r8_"],
        after: HintSuffix::Run(37),
        form: r"\br8_[A-Za-z0-9]{37}\b",
    },
    RedactionRule {
        name: "groq-key",
        hints: &["gsk_"],
        after: HintSuffix::Run(52),
        form: r"\bgsk_[A-Za-z0-9]{52}\b",
    },
    RedactionRule {
        name: "xai-key",
        hints: &["xai-"],
        after: HintSuffix::Run(70),
        form: r"\bxai-[A-Za-z0-9]{70,}",
    },
    RedactionRule {
        name: "perplexity-key",
        hints: &["pplx-"],
        after: HintSuffix::Run(40),
        form: r"\bpplx-[A-Za-z0-9]{40,}",
    },
    RedactionRule {
        name: "netlify-token",
        hints: &["nfp_"],
        after: HintSuffix::Run(36),
        form: r"\bnfp_[A-Za-z0-9]{36,}",
    },
    RedactionRule {
        name: "terraform-token",
        hints: &[".atlasv1."],
        after: HintSuffix::Run(60),
        form: r"(^|[^A-Za-z0-9\\])(?P<secret>[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_\-]{60,})",
    },
    RedactionRule {
        name: "jfrog-token",
        hints: &["akc", "cmvmdgtu"],
        after: HintSuffix::Run(56),
        form: r"\b(AKC[A-Za-z0-9]{68,}|cmVmdGtu[A-Za-z0-9]{56,})",
    },
    RedactionRule {
        name: "sonar-token",
        hints: &["sqp_", "squ_", "sqa_"],
        after: HintSuffix::Run(40),
        form: r"\bsq[pua]_[a-f0-9]{40}\b",
    },
    RedactionRule {
        name: "buildkite-token",
        hints: &["bkua_", "bkat_"],
        after: HintSuffix::Run(40),
        form: r"\bbk(ua|at)_[A-Za-z0-9]{40,}",
    },
    RedactionRule {
        name: "planetscale-token",
        hints: &["pscale_"],
        after: HintSuffix::Run(35),
        form: r"\bpscale_(tkn|pw|oauth)_[A-Za-z0-9_\-.=]{32,}",
    },
    RedactionRule {
        name: "sendinblue-key",
        hints: &["xkeysib-"],
        after: HintSuffix::Run(81),
        form: r"\bxkeysib-[a-f0-9]{64}-[A-Za-z0-9]{16}\b",
    },
    RedactionRule {
        name: "dynatrace-token",
        hints: &["dt0c01."],
        after: HintSuffix::Run(89),
        form: r"\bdt0c01\.[A-Z0-9]{24}\.[A-Z0-9]{64}\b",
    },
    RedactionRule {
        name: "onepassword-token",
        hints: &["ops_eyj"],
        after: HintSuffix::Run(100),
        form: r"\bops_eyJ[A-Za-z0-9+/]{100,}=*",
    },
    RedactionRule {
        name: "sourcegraph-token",
        hints: &["sgp_"],
        after: HintSuffix::Run(40),
        form: r"\bsgp_([a-f0-9]{16}_)?[a-f0-9]{40}\b",
    },
    RedactionRule {
        name: "clojars-token",
        hints: &["clojars_"],
        after: HintSuffix::Run(60),
        form: r"\bCLOJARS_[a-f0-9]{60}\b",
    },
    RedactionRule {
        name: "alibaba-key",
        hints: &["ltai"],
        after: HintSuffix::Run(20),
        form: r"\bLTAI[A-Za-z0-9]{20}\b",
    },
    RedactionRule {
        name: "contentful-token",
        hints: &["cfpat-"],
        after: HintSuffix::Run(43),
        form: r"\bCFPAT-[A-Za-z0-9_\-]{43}",
    },
    RedactionRule {
        name: "jwt",
        hints: &["eyj"],
        after: HintSuffix::Run(25),
        form: r"\beyJ[A-Za-z0-9_\-]{10,}\.eyJ[A-Za-z0-9_\-]{10,}\.[A-Za-z0-9_\-]*",
    },
    RedactionRule {
        name: "bearer",
        hints: &["bearer "],
        after: HintSuffix::Run(20),
        form: r"(?i)\bbearer\s+(?P<secret>[A-Za-z0-9._~+/\-]{20,}=*)",
    },
    RedactionRule {
        name: "basic-auth",
        hints: &["authorization"],
        after: HintSuffix::Assignment,
        form: r"(?i)\bauthorization\s*:\s*basic\s+(?P<secret>[A-Za-z0-9+/]{8,}=*)",
    },
    RedactionRule {
        name: "url-password",
        hints: &["://"],
        after: HintSuffix::Login,
        form: r#"[A-Za-z][A-Za-z0-9+.\-]*://[^\s:/@]*:(?P<secret>[^\s:/@"\\]{3,})@"#,
    },
    RedactionRule {
        name: "cookie",
        hints: &["cookie"],
        after: HintSuffix::Assignment,
        form: r#"(?i)\b(set-)?cookie:\s*[^=;\s"\\]+=(?P<secret>[^;\s"\\]{12,})"#,
    },
    RedactionRule {
        name: "curl-password",
        hints: &["curl "],
        after: HintSuffix::Anything,
        form: r#"\bcurl\s[^\n]*?(-u|--user)[ =](\\*["'])?[^\s:"'\\]+:(?P<secret>[^\s"'\\]{6,})"#,
    },
    RedactionRule {
        name: "mysql-password",
        hints: &["mysql"],
        after: HintSuffix::Anything,
        form: r#"\bmysql(dump|admin)?\s[^\n]*?\s?-p(?P<secret>[^\s"'\\]{6,})"#,
    },
    RedactionRule {
        name: "netrc-password",
        hints: &["login "],
        after: HintSuffix::Run(1),
        form: r#"\blogin\s+\S+\s+password\s+(?P<secret>[^\s"'\\]{6,})"#,
    },
    RedactionRule {
        name: "assigned-secret",
        hints: &["--password", "--passwd", "--token", "--secret", "--api-key"],
        after: HintSuffix::Run(8),
        form: r#"--(password|passwd|token|secret|api-key)[ =](\\*["'])?(?P<secret>[A-Za-z0-9+/_\-.=!@$%^&*~]{8,})"#,
    },
    RedactionRule {
        name: "assigned-secret",
        hints: &[
            "<password>",
            "<passphrase>",
            "<secret>",
            "<token>",
            "<apikey>",
        ],
        after: HintSuffix::Run(8),
        form: r"(?i)<(password|passphrase|secret|token|apikey)>(?P<secret>[^<\s]{8,})</",
    },
    RedactionRule {
        name: "assigned-secret",
        hints: &["define("],
        after: HintSuffix::Anything,
        form: r#"(?i)\bdefine\(\s*\\*["'][A-Z0-9_]*(PASSWORD|KEY|SALT|SECRET|TOKEN)\\*["']\s*,\s*\\*["'](?P<secret>[^\s"'\\]{8,})"#,
    },
    RedactionRule {
        name: "assigned-secret",
        hints: &[
            "password",
            "passwd",
            "passphrase",
            "pwd",
            "_pw",
            "_pat",
            "_dsn",
        ],
        after: HintSuffix::Assignment,
        form: r#"(?i)(password|passwd|passphrase|pwd|_pw|_pat|_dsn)(\\*["']|%2[27]\x1f?)?(\s|%20\x1f?)*(=|:=|:|=>|%3[AD]\x1f?)(\s|%20\x1f?)*(\\*["']|%2[27]\x1f?)?(?P<secret>[A-Za-z0-9+/_\-.=!@$^*~]{8,})"#,
    },
    RedactionRule {
        name: "assigned-secret",
        hints: &[
            "key",
            "token",
            "secret",
            "password",
            "passwd",
            "passphrase",
            "pwd",
            "credential",
        ],
        after: HintSuffix::Assignment,
        form: r#"(?i)\b[A-Za-z0-9_.\-]*(api[_\-]?key|access[_\-]?key|secret[_\-]?key|private[_\-]?key|account[_\-]?key|signing[_\-]?key|admin[_\-]?key|auth[_\-]?token|access[_\-]?token|refresh[_\-]?token|client[_\-]?secret|password|passwd|passphrase|pwd|secret|token|credential)(\\*["']|%2[27]\x1f?)?(\s|%20\x1f?)*(=|:=|:|=>|%3[AD]\x1f?)(\s|%20\x1f?)*(\\*["']|%2[27]\x1f?)?(?P<secret>[A-Za-z0-9+/_\-.=!@$%^&*~]{12,})"#,
    },
];

/// What stands at the place of a secret.
fn render_mark(name: &str) -> String {
    format!("[redacted:{name}]")
}

/// Whether a value is long enough to be a secret, and is not taken out already.
fn is_long_secret(value: &Value) -> bool {
    value.as_str().is_some_and(|text| {
        text.chars().count() >= VALUE_CHARS_MIN && !text.starts_with("[redacted:")
    })
}

fn compiled_rule(index: usize) -> &'static Regex {
    static COMPILED: [OnceLock<Regex>; RULES.len()] = [const { OnceLock::new() }; RULES.len()];
    COMPILED[index]
        .get_or_init(|| Regex::new(RULES[index].form).expect("every rule is compiled by a test"))
}

/// Up to this length a text is scanned without the automaton.
const SHORT_BYTES: usize = 4 << 10;

/// Which rules may fit: those of which a fixed part stands in the text, with
/// what must come after it.
fn find_possible_rules(text: &str) -> [bool; RULES.len()] {
    let mut fits = [false; RULES.len()];
    if text.len() > SHORT_BYTES {
        let (automaton, rules) = hint_automaton();
        for hit in automaton.find_overlapping_iter(text) {
            let rule = rules[hit.pattern().as_usize()];
            fits[rule] = fits[rule] || RULES[rule].can_match_at(text, hit.start(), hit.end());
        }
        return fits;
    }
    let bytes = text.as_bytes();
    for (at, first) in bytes.iter().enumerate() {
        if !BEGINS_HINT[usize::from(*first)] {
            continue;
        }
        for (rule, fits) in RULES.iter().zip(&mut fits) {
            *fits = *fits
                || rule.hints.iter().any(|hint| {
                    let end = at + hint.len();
                    let there = bytes.get(at..end);
                    there.is_some_and(|there| there.eq_ignore_ascii_case(hint.as_bytes()))
                        && rule.can_match_at(text, at, end)
                });
        }
    }
    fits
}

/// The bytes that a hint begins with, in both cases.
const BEGINS_HINT: [bool; 256] = {
    let mut begins = [false; 256];
    let mut rule = 0;
    while rule < RULES.len() {
        let mut hint = 0;
        while hint < RULES[rule].hints.len() {
            let first = RULES[rule].hints[hint].as_bytes()[0];
            begins[first.to_ascii_lowercase() as usize] = true;
            begins[first.to_ascii_uppercase() as usize] = true;
            hint += 1;
        }
        rule += 1;
    }
    begins
};

fn hint_automaton() -> &'static (AhoCorasick, Vec<usize>) {
    static HINTS: OnceLock<(AhoCorasick, Vec<usize>)> = OnceLock::new();
    HINTS.get_or_init(|| {
        let pairs: Vec<(&str, usize)> = RULES
            .iter()
            .enumerate()
            .flat_map(|(index, rule)| rule.hints.iter().map(move |hint| (*hint, index)))
            .collect();
        let automaton = AhoCorasick::builder()
            .ascii_case_insensitive(true)
            .build(pairs.iter().map(|(hint, _)| *hint))
            .expect("a few short fixed texts");
        (
            automaton,
            pairs.into_iter().map(|(_, index)| index).collect(),
        )
    })
}

/// Whether a variable of that name is taken to hold a secret.
#[must_use]
pub fn is_secret_name(name: &str) -> bool {
    const ENDS: [&str; 13] = [
        "TOKEN",
        "TOKENS",
        "SECRET",
        "SECRETS",
        "PASSWORD",
        "PASSWD",
        "PASSPHRASE",
        "CREDENTIALS",
        "APIKEY",
        "ACCESSKEY",
        "SECRETKEY",
        "PRIVATEKEY",
        "ACCOUNTKEY",
    ];
    const LAST_WORDS: [&str; 8] = ["KEY", "KEYS", "PW", "PWD", "PAT", "DSN", "AUTH", "PASS"];
    const WITHIN: [&str; 6] = [
        "_TOKEN_",
        "_SECRET_",
        "_PASSWORD_",
        "APIKEY",
        "_KEY_",
        "SECRET_",
    ];
    let name = name.to_ascii_uppercase();
    let last = name.rsplit(|c: char| !c.is_ascii_alphanumeric()).next();
    ENDS.iter().any(|end| name.ends_with(end))
        || WITHIN.iter().any(|part| name.contains(part))
        || last.is_some_and(|last| LAST_WORDS.contains(&last))
        || name.starts_with("SIGNING_")
}

/// Values shorter than this say too little to be told from ordinary words.
const VALUE_CHARS_MIN: usize = 6;

fn escape_json(value: &str) -> String {
    let quoted = serde_json::Value::from(value).to_string();
    quoted[1..quoted.len() - 1].to_owned()
}

/// Stands between an escape and the word behind it, while secrets are looked for.
const PART: char = '\u{1f}';

/// The text with [`PART`] behind each escape that a word follows: `\n`, `\u001b`, `%20`,
/// and the sequences that colour a terminal, raw or in JSON. None where there
/// is no such place, or the mark stands in the text already.
fn separate_escapes(text: &str) -> Option<String> {
    let bytes = text.as_bytes();
    let mut places = Vec::new();
    let mut at = 0;
    while let Some(offset) = bytes
        .get(at..)?
        .iter()
        .position(|b| matches!(b, b'\\' | b'%' | 0x1b))
    {
        let begin = at + offset;
        let end = find_escape_end(bytes, begin);
        at = end.unwrap_or(begin + 1);
        let follows = bytes.get(at).is_some_and(u8::is_ascii_alphanumeric);
        if end.is_some() && follows {
            places.push(at);
        }
    }
    if places.is_empty() || text.contains(PART) {
        return None;
    }
    let mut out = String::with_capacity(text.len() + places.len());
    let mut from = 0;
    for place in places {
        out.push_str(&text[from..place]);
        out.push(PART);
        from = place;
    }
    out.push_str(&text[from..]);
    Some(out)
}

/// Where an escape ends that begins there. All of it is ASCII.
fn find_escape_end(bytes: &[u8], begin: usize) -> Option<usize> {
    let is_escape = |at: usize| {
        let digits = bytes.get(at..at + 6)?;
        digits.eq_ignore_ascii_case(b"\\u001b").then_some(at + 6)
    };
    let behind = match bytes.get(begin)? {
        0x1b => Some(begin + 1),
        b'%' => {
            let digits = bytes.get(begin + 1..begin + 3)?;
            let is_hex = digits.iter().all(u8::is_ascii_hexdigit);
            return is_hex.then_some(begin + 3);
        }
        _ => is_escape(begin),
    };
    if let Some(behind) = behind.filter(|behind| bytes.get(*behind) == Some(&b'[')) {
        let rest = bytes.get(behind + 1..)?;
        let end = rest
            .iter()
            .take(32)
            .position(|b| (0x40..=0x7e).contains(b))?;
        return Some(behind + 1 + end + 1);
    }
    match (bytes[begin], bytes.get(begin + 1)?) {
        (b'\\', b'n' | b'r' | b't' | b'b' | b'f') => Some(begin + 2),
        (b'\\', b'u') => {
            let digits = bytes.get(begin + 2..begin + 6)?;
            digits
                .iter()
                .all(u8::is_ascii_hexdigit)
                .then_some(begin + 6)
        }
        // What is escaped twice ends where it ends once.
        (b'\\', b'\\') => Some(begin + 1),
        _ => None,
    }
}

/// Takes secrets out of text.
#[derive(Debug)]
pub struct Redactor {
    values: Option<AhoCorasick>,
    marks: Vec<String>,
}

impl Redactor {
    /// A redactor that knows the forms of keys, and no values.
    #[must_use]
    pub fn rules_only() -> Self {
        Self {
            values: None,
            marks: Vec::new(),
        }
    }

    /// A redactor that also knows the values of the variables whose names look
    /// secret. Values of fewer than six characters are left alone.
    #[must_use]
    pub fn with_variables<'a>(variables: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let mut values = Vec::new();
        let mut marks = Vec::new();
        for (name, value) in variables {
            let value = value.trim();
            if !is_secret_name(name) || value.chars().count() < VALUE_CHARS_MIN {
                continue;
            }
            // As it stands in JSON, and in JSON that is a text of other JSON.
            let escaped = escape_json(value);
            for form in [value.to_owned(), escape_json(&escaped), escaped] {
                if !values.contains(&form) {
                    values.push(form);
                    marks.push(render_mark(&format!("env:{name}")));
                }
            }
        }
        if values.is_empty() {
            return Self::rules_only();
        }
        // The longest value wins, lest a secret that begins with another one
        // be taken out by half.
        let automaton = AhoCorasick::builder()
            .match_kind(MatchKind::LeftmostLongest)
            .build(&values)
            .ok();
        Self {
            values: automaton,
            marks,
        }
    }

    /// The text without its secrets.
    #[must_use]
    pub fn redact<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let found = self.redact_unseparated(text);
        // In JSON a line end is `\n`, and its letter would be taken for a part
        // of the word behind it.
        let Some(parted) = separate_escapes(&found) else {
            return found;
        };
        match self.redact_unseparated(&parted) {
            Cow::Borrowed(_) => found,
            Cow::Owned(redacted) => Cow::Owned(redacted.replace(PART, "")),
        }
    }

    fn redact_unseparated<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let mut text = Cow::Borrowed(text);
        if let Some(values) = &self.values
            && values.is_match(text.as_ref())
        {
            text = Cow::Owned(values.replace_all(&text, &self.marks));
        }
        let fits = find_possible_rules(&text);
        for (index, _) in fits.iter().enumerate().filter(|(_, fits)| **fits) {
            if let Some(changed) = apply_rule(index, &text) {
                text = Cow::Owned(changed);
            }
        }
        text
    }

    /// Redacts a text in place; whether it was changed.
    pub(crate) fn redact_in_place(&self, text: &mut String) -> bool {
        let Cow::Owned(redacted) = self.redact(text) else {
            return false;
        };
        let differs = redacted != *text;
        *text = redacted;
        differs
    }

    /// Redacts a document of a native format in place, so that it stays one:
    /// within the strings of JSON, else line by line as block style YAML.
    pub fn redact_document(&self, text: &mut String) -> bool {
        if let Ok(mut value) = serde_json::from_str::<serde_json::Value>(text) {
            let differs = self.redact_json(&mut value);
            if differs {
                *text = value.to_string();
            }
            return differs;
        }
        let differs = self.redact_in_place(text);
        if differs {
            *text = text.split_inclusive('\n').map(quote_bare_marks).collect();
        }
        differs
    }

    /// Redacts values that stand under chosen names, and the names. What stands
    /// under a name that looks secret goes as a whole.
    pub(crate) fn redact_map(&self, values: &mut Map<String, Value>) -> bool {
        let before = values.clone();
        // Names without a secret keep their place; the others must not take it.
        let is_kept = |name: &str| self.redact(name) == *name;
        let mut after = Map::new();
        for (name, mut value) in std::mem::take(values) {
            self.redact_json(&mut value);
            if is_secret_name(&name) && is_long_secret(&value) {
                value = Value::String(render_mark(&self.redact(&name)));
            }
            let key = if is_kept(&name) {
                name
            } else {
                let name = self.redact(&name).into_owned();
                let free = (2_u32..)
                    .map(|nth| format!("{name}#{nth}"))
                    .find(|name| !after.contains_key(name) && !before.contains_key(name));
                let taken = after.contains_key(&name) || before.contains_key(&name);
                free.filter(|_| taken).unwrap_or(name)
            };
            after.insert(key, value);
        }
        *values = after;
        *values != before
    }

    /// Redacts every text within a JSON value; whether any was changed.
    pub fn redact_json(&self, value: &mut serde_json::Value) -> bool {
        match value {
            serde_json::Value::String(text) => self.redact_in_place(text),
            serde_json::Value::Array(items) => items
                .iter_mut()
                .fold(false, |any, item| self.redact_json(item) | any),
            serde_json::Value::Object(map) => map
                .values_mut()
                .fold(false, |any, item| self.redact_json(item) | any),
            serde_json::Value::Null | serde_json::Value::Bool(_) | serde_json::Value::Number(_) => {
                false
            }
        }
    }
}

/// A line of block style YAML in which no value or key begins with a bare
/// mark, whose bracket would make a list of it.
fn quote_bare_marks(line: &str) -> String {
    let (content, end) = line
        .strip_suffix('\n')
        .map_or((line, ""), |content| (content, "\n"));
    let quote = |text: &str| format!("'{}'", text.replace('\'', "''"));
    let indent = content.len() - content.trim_start_matches([' ', '-']).len();
    let (before, mut rest) = content.split_at(indent);
    let mut out = before.to_owned();
    if let Some((key, value)) = rest.split_once(": ") {
        if key.starts_with("[redacted:") {
            out.push_str(&quote(key));
        } else {
            out.push_str(key);
        }
        out.push_str(": ");
        rest = value;
    } else if let Some(key) = rest.strip_suffix(':')
        && key.starts_with("[redacted:")
    {
        return format!("{out}{}:{end}", quote(key));
    }
    if rest.starts_with("[redacted:") {
        out.push_str(&quote(rest));
    } else {
        out.push_str(rest);
    }
    out + end
}

/// The text with everything that rule `index` finds taken out; none when it finds nothing.
fn apply_rule(index: usize, text: &str) -> Option<String> {
    let mut out = String::new();
    let mut copied = 0;
    for found in compiled_rule(index).captures_iter(text) {
        let secret = found.name("secret").or_else(|| found.get(0))?;
        if secret.is_empty()
            || secret.as_str().starts_with("[redacted:")
            || is_placeholder(index, secret.as_str())
        {
            continue;
        }
        out.push_str(&text[copied..secret.start()]);
        out.push_str(&render_mark(RULES[index].name));
        copied = secret.end();
    }
    if copied == 0 {
        return None;
    }
    out.push_str(&text[copied..]);
    Some(out)
}

/// What stands where a secret belongs, in documentation and in templates.
const PLACEHOLDERS: [&str; 11] = [
    "example",
    "xxxx",
    "your_",
    "your-",
    "changeme",
    "change_me",
    "change-me",
    "${",
    "$(",
    "{{",
    "<",
];
/// Passwords that everyone knows, in the addresses of tests.
const KNOWN_PASSWORDS: [&str; 7] = [
    "password", "postgres", "guest", "root", "admin", "secret", "user",
];

/// Whether a value only holds the place of a secret. The rules for assigned values have
/// no form of their own: a word, a path or a variable after `token:` is prose or code.
fn is_placeholder(index: usize, value: &str) -> bool {
    let lower = value.to_ascii_lowercase();
    if PLACEHOLDERS.iter().any(|part| lower.contains(part)) {
        return true;
    }
    match RULES[index].name {
        "assigned-secret" => {
            let is_path = value.starts_with(['.', '/']) || lower.ends_with(".pem");
            let has = |is: fn(&char) -> bool| value.chars().any(|c| is(&c));
            is_path
                || is_member_of_code(value)
                || !(has(char::is_ascii_digit) && has(char::is_ascii_alphabetic))
        }
        "url-password" => KNOWN_PASSWORDS.contains(&lower.as_str()),
        _ => false,
    }
}

/// Whether a value reads as `self.next_token2`.
fn is_member_of_code(value: &str) -> bool {
    let is_name = |part: &str| {
        let word = part.trim_end_matches(|c: char| c.is_ascii_digit());
        let is_letter = |c: char| c.is_ascii_lowercase() || c == '_';
        !word.is_empty() && word.chars().all(is_letter) && part.len() - word.len() <= 2
    };
    value.contains('.') && value.split('.').all(is_name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expect: &str) {
        assert_eq!(Redactor::rules_only().redact(text), expect);
    }

    /// Keys are put together here so that no scanner takes this file for a leak.
    fn key(prefix: &str, chars: usize) -> String {
        let body: String = "a1B2c3D4e5F6g7H8i9J0".chars().cycle().take(chars).collect();
        format!("{prefix}{body}")
    }

    #[test]
    fn every_rule_compiles_and_its_hints_are_lower_case() {
        for (index, rule) in RULES.iter().enumerate() {
            let _ = compiled_rule(index);
            assert!(
                rule.hints
                    .iter()
                    .all(|hint| *hint == hint.to_ascii_lowercase()),
                "{}",
                rule.name
            );
        }
    }

    #[test]
    fn keys_of_known_forms_are_taken_out() {
        for (prefix, chars, name) in [
            ("ghp_", 36, "github-token"),
            ("sk-ant-api03-", 40, "anthropic-key"),
            ("sk-proj-", 40, "openai-key"),
            ("glpat-", 20, "gitlab-token"),
            ("xoxb-", 30, "slack-token"),
            ("sk_live_", 24, "stripe-key"),
            ("hf_", 34, "huggingface-token"),
            ("AIza", 35, "google-key"),
            ("npm_", 36, "npm-token"),
        ] {
            check(
                &format!("use {} now", key(prefix, chars)),
                &format!("use [redacted:{name}] now"),
            );
        }
        check("id AKIAABCDEFGHIJKLMNOP.", "id [redacted:aws-access-key].");
        check(
            "postgres://app:hunter22@db/x",
            "postgres://app:[redacted:url-password]@db/x",
        );
        check(
            &format!("Authorization: Bearer {}", key("", 30)),
            "Authorization: Bearer [redacted:bearer]",
        );
        check(
            "API_KEY=abc123def456ghi7",
            "API_KEY=[redacted:assigned-secret]",
        );
        check(
            "\"password\": \"correct4horse!battery\"",
            "\"password\": \"[redacted:assigned-secret]\"",
        );
    }

    #[test]
    fn a_short_text_and_a_long_one_may_fit_the_same_rules() {
        for (index, rule) in RULES.iter().enumerate() {
            for hint in rule.hints {
                let after = match rule.after {
                    HintSuffix::Run(least) => "x".repeat(least),
                    HintSuffix::Assignment => "\" = ".to_owned(),
                    HintSuffix::Login => "a:b@c".to_owned(),
                    HintSuffix::Anything => String::new(),
                };
                let short = format!("\u{e9} {}{after}", hint.to_ascii_uppercase());
                let long = format!("{short}{}", " ".repeat(SHORT_BYTES));
                assert!(find_possible_rules(&short)[index], "{hint}");
                assert_eq!(
                    find_possible_rules(&short),
                    find_possible_rules(&long),
                    "{hint}"
                );
            }
        }
    }

    #[test]
    fn what_a_rule_finds_it_was_asked_for() {
        let run = "a1B2c3D4e5F6g7H8".repeat(5);
        let befores = [
            "", " ", "x", "_", "\u{e9}", "\n", "\"", "https://", "my-api-",
        ];
        let mut found = 0;
        for (index, rule) in RULES.iter().enumerate() {
            for (hint, before) in rule
                .hints
                .iter()
                .flat_map(|hint| befores.map(|before| (hint, before)))
            {
                for after in [
                    run.clone(),
                    format!(" {run}"),
                    format!("\": \"{run}"),
                    format!(" \t:= '{run}'"),
                    format!(" : basic {run}"),
                    format!("me:{}@host", &run[..16]),
                    format!("/services/{run}"),
                    format!("{}.eyJ{}.x", &run[..10], &run[..10]),
                    format!("{}.{}", &run[..16], &run[..16]),
                    format!(" RSA PRIVATE KEY-----\n{run}"),
                    run[..16].to_ascii_uppercase(),
                    run[..32].to_ascii_lowercase(),
                    format!("1{}", run.to_ascii_uppercase()),
                ] {
                    for hint in [(*hint).to_owned(), hint.to_ascii_uppercase()] {
                        let text = format!("{before}{hint}{after}");
                        let finds = compiled_rule(index).is_match(&text);
                        found += usize::from(finds);
                        assert!(
                            !finds || find_possible_rules(&text)[index],
                            "{}: {text}",
                            rule.name
                        );
                    }
                }
            }
        }
        assert!(found > 500, "{found}: the texts are far from any secret");
    }

    #[test]
    fn ordinary_words_compile_no_regular_expression() {
        for text in [
            "task-1: rotate the refresh token, see https://example.org/keys",
            "Implemented risk-assessment-of-the-password-form; msg.send is precious",
            "authorization uses the secret key of the user's credentials",
            "a basic test of the bearer of bad news",
            "",
        ] {
            assert_eq!(find_possible_rules(text), [false; RULES.len()], "{text}");
        }
    }

    #[test]
    fn a_key_goes_that_an_escape_stands_before() {
        let key = key("ghp_", 36);
        for before in [
            "a\\n",
            "\\t",
            "x\\r\\n",
            "\\u001b[32m",
            "\u{1b}[1;31m",
            "\\\\n",
            "\\u000a",
        ] {
            let redacted = Redactor::rules_only();
            let text = format!("{{\"content\":\"{before}{key} b\"}}");
            let out = redacted.redact(&text).into_owned();
            assert!(!out.contains(&key), "{text:?} -> {out:?}");
            assert!(out.contains(before) && !out.contains(PART), "{out:?}");
        }
        let path = r"C:\new\table\ufffe and \\server";
        assert_eq!(Redactor::rules_only().redact(path), path);
    }

    #[test]
    fn a_private_key_goes_also_when_its_end_is_cut_off() {
        check(
            "-----BEGIN RSA PRIVATE KEY-----\nMIIE\nabc",
            "-----BEGIN RSA PRIVATE KEY-----\n[redacted:private-key]",
        );
    }

    #[test]
    fn prose_and_code_about_secrets_stay() {
        for text in [
            "Implement the refresh token: rotation happens daily",
            "const token = process.env.GITHUB_TOKEN",
            "password: ${DB_PASSWORD}",
            "the key is to keep it simple",
            "https://example.com:8080/path",
            "sprint-2026-01-15_api-key-rotation",
            "",
        ] {
            check(text, text);
        }
    }

    #[test]
    fn values_of_secret_variables_go_wherever_they_stand() {
        let redactor = Redactor::with_variables([
            ("MY_SECRET", "open sesame"),
            ("LONGER_SECRET", "open sesame please"),
            ("TOKEN", "ab"),
            ("HOME", "/home/ada"),
        ]);
        assert_eq!(
            redactor.redact("say open sesame please ab /home/ada"),
            "say [redacted:env:LONGER_SECRET] ab /home/ada"
        );
        assert_eq!(
            redactor.redact("say open sesame!"),
            "say [redacted:env:MY_SECRET]!"
        );
    }

    #[test]
    fn names_of_variables_tell_secrets_from_settings() {
        for name in [
            "GITHUB_TOKEN",
            "aws_secret_access_key",
            "DB_PASSWORD",
            "OPENAI_API_KEY",
            "STRIPE_SECRET_TEST",
        ] {
            assert!(is_secret_name(name), "{name}");
        }
        for name in [
            "HOME",
            "PATH",
            "KEYBOARD",
            "TOKENIZERS_PARALLELISM",
            "PITON_RUN",
        ] {
            assert!(!is_secret_name(name), "{name}");
        }
    }
}
