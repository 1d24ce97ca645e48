//! Kinds of secrets that are known by their form, wherever they stand.
//!
//! The rows follow the forms that the vendors document; the list of gitleaks
//! (MIT) served to see which ones are met. A form is fixed text with runs of
//! characters in braces: `{hex:40}` is a run of exactly 40, `{an:30+}` of 30 or
//! more, `{d:8-10}` of 8 to 10. Behind a `^` begins what is taken out; without
//! one, all of it is. There is nothing to compile: a short command pays for the
//! rows that begin with a letter of its text, and for no more.

use std::ops::Range;
use std::sync::OnceLock;

use super::SecretRange;
use super::plain_text::PlainText;
use super::values::{is_parted_words, is_placeholder, is_wordy};

/// A name and a form.
type FormRow = (&'static str, &'static str);

#[rustfmt::skip]
const FORMS: &[FormRow] = &[
    ("adafruit-key", "aio_{an:28}"),
    ("adobe-secret", "p8e-{hex:32}"),
    ("age-key", "AGE-SECRET-KEY-1{up:50+}"),
    ("airtable-token", "pat{an:14}.{hex:64}"),
    ("aiven-token", "AVNS_{url:16+}"),
    ("alibaba-key", "LTAI{an:16-24}"),
    ("anthropic-key", "sk-ant-{url:16+}"),
    ("apify-token", "apify_api_{an:30+}"),
    ("asana-token", "1/{d:13-19}:{hex:32}"),
    ("asana-token", "2/{d:13-19}/{d:13-19}:{hex:32}"),
    ("atlassian-token", "ATATT3{url:60+}{eq}{up:0-8}"),
    ("atlassian-token", "ATCTT3{url:60+}{eq}{up:0-8}"),
    ("atlassian-token", "ATBB{an:24-32}"),
    ("atlassian-token", "ATSTT3{url:60+}{eq}{up:0-8}"),
    ("authress-key", "sc_{an:5-30}.{an:4-6}.{url:30+}"),
    ("aws-access-key", "AKIA{up:16}"),
    ("aws-access-key", "AKIA{up:16}:{b64:40}"),
    ("aws-access-key", "AKIA{up:16},{b64:40}"),
    ("aws-access-key", "ASIA{up:16}"),
    ("aws-access-key", "ABIA{up:16}"),
    ("aws-access-key", "ACCA{up:16}"),
    ("aws-bedrock-key", "ABSK{b64:100+}{eq}"),
    ("aws-bedrock-key", "bedrock-api-key-{b64:60+}{eq}"),
    ("aws-mws-token", "amzn.mws.{hex:8}-{hex:4}-{hex:4}-{hex:4}-{hex:12}"),
    ("amazon-oauth", "amzn1.oa2-cs.v1.{hex:64}"),
    ("aws-session-token", "IQoJb3JpZ2lu{b64:80+}{eq}"),
    ("aws-session-token", "FwoGZXIvYXdz{b64:80+}{eq}"),
    ("axiom-token", "xaat-{hex:8}-{hex:4}-{hex:4}-{hex:4}-{hex:12}"),
    ("axiom-token", "xapt-{hex:8}-{hex:4}-{hex:4}-{hex:4}-{hex:12}"),
    ("azure-client-secret", "{azure:3}{d:1}Q~{azure:31-34}"),
    ("azure-devops-token", "{an:76}AZDO{an:4}"),
    ("azure-storage-key", "{b64:76}+ASt{b64:6}{eq:2}"),
    ("azure-service-key", "{b64:33}+AEh{b64:6}{eq:1}"),
    ("azure-service-key", "{b64:33}+ASb{b64:6}{eq:1}"),
    ("azure-service-key", "{an:52}AzSe{an:6+}"),
    ("azure-service-key", "{an:52}ACDb{an:10+}"),
    ("azure-function-key", "{url:44}AzFu{url:4+}{eq}"),
    ("azure-openai-key", "{an:52}JQQJ99{an:10}AC{an:6+}"),
    ("braintree-token", "access_token$production${an:16}${hex:32}"),
    ("braintree-token", "access_token$sandbox${an:16}${hex:32}"),
    ("buildkite-token", "bkua_{an:40}"),
    ("buildkite-token", "bkat_{an:40+}"),
    ("buildkite-token", "bkaj_{url:40+}"),
    ("buildkite-token", "bkct_{an:32+}"),
    ("cerebras-key", "csk-{an:40+}"),
    ("circleci-token", "CCIPAT_{an:20+}_{hex:40}"),
    ("circleci-token", "CCIPRJ_{an:20+}_{hex:40}"),
    ("clojars-token", "CLOJARS_{low:60}"),
    ("cloudflare-ca-key", "v1.0-{hex:24}-{hex:100+}"),
    ("cloudflare-token", "cfut_{url:40+}"),
    ("cloudflare-token", "cfat_{url:40+}"),
    ("cloudflare-key", "cfk_{url:40+}"),
    ("codecov-token", "codecov_{an:32+}"),
    ("cockroach-key", "CCDB1_{an:22}_{an:40}"),
    ("contentful-token", "CFPAT-{url:43}"),
    ("coze-token", "pat_{an:64}"),
    ("crates-token", "cio{an:32}"),
    ("cursor-key", "crsr_{hex:64}"),
    ("cursor-key", "key_{hex:64}"),
    ("databricks-token", "dapi{hex:32}-{d:1}"),
    ("databricks-token", "dapi{hex:32}"),
    ("databricks-token", "dose{hex:32}"),
    ("datadog-key", "ddapp_{an:34}"),
    ("datadog-key", "ddpat_{an:30+}"),
    ("defined-token", "dnkey-{url:26}-{url:52}"),
    ("deno-token", "ddp_{an:36}"),
    ("deno-token", "ddo_{an:36}"),
    ("deno-token", "ddw_{an:36}"),
    ("digitalocean-token", "dop_v1_{hex:64}"),
    ("digitalocean-token", "doo_v1_{hex:64}"),
    ("digitalocean-token", "dor_v1_{hex:64}"),
    ("digitalocean-key", "DO00{up:16}"),
    ("discord-token", "mfa.{url:80+}"),
    ("discord-webhook", "discord.com/api/webhooks/{d:10-22}/^{url:60+}"),
    ("discord-webhook", "discordapp.com/api/webhooks/{d:10-22}/^{url:60+}"),
    ("discord-webhook", "discord.com/api/v{d:1-2}/webhooks/{d:10-22}/^{url:60+}"),
    ("docker-token", "dckr_pat_{url:24+}"),
    ("docker-token", "dckr_oat_{url:24+}"),
    ("docker-swarm-token", "SWMTKN-1-{an:50}-{an:25}"),
    ("docker-swarm-key", "SWMKEY-1-{b64:40+}{eq}"),
    ("doppler-token", "dp.st.{url:0-40}.{an:40+}"),
    ("doppler-token", "dp.{low:2-5}.{an:40+}"),
    ("dropbox-token", "sl.{url:60+}"),
    ("dropbox-token", "sl.u.{url:60+}"),
    ("duffel-token", "duffel_live_{url:40+}"),
    ("duffel-token", "duffel_test_{url:40+}"),
    ("dynatrace-token", "dt0{an:3}.{up:24}.{up:64}"),
    ("easypost-key", "EZAK{an:54}"),
    ("easypost-key", "EZTK{an:54}"),
    ("e2b-key", "e2b_{hex:40}"),
    ("elevenlabs-key", "sk_{hex:48}"),
    ("elastic-key", "essu_{b64:40+}{eq}"),
    ("exa-key", "exa_{an:30+}"),
    ("expo-token", "expo_{url:30+}"),
    ("facebook-token", "EAAA{url:59+}"),
    ("facebook-token", "EAA{an:80+}"),
    ("fastly-token", "fastly_{url:30+}"),
    ("figma-token", "figd_{url:40+}"),
    ("figma-token", "figu_{url:40+}"),
    ("figma-token", "figo_{url:40+}"),
    ("firecrawl-key", "fc-{hex:32}"),
    ("firebase-key", "AAAA{url:7}:{url:140}"),
    ("fireworks-key", "fw_{an:22+}"),
    ("finicity-token", "fcc_{an:32+}"),
    ("flutterwave-key", "FLWSECK_TEST-{an:12+}-X"),
    ("flutterwave-key", "FLWSECK_TEST{an:12}"),
    ("flutterwave-key", "FLWSECK-{an:12+}-{an:0-20}-X"),
    ("flutterwave-key", "FLWSECK-{an:12+}-X"),
    ("fly-token", "FlyV1 fm2_{b64:40+}{eq}"),
    ("fly-token", "FlyV1 fm1{an:1}_{b64:40+}{eq}"),
    ("fly-token", "fm2_{b64:40+}{eq}"),
    ("fly-token", "fm1{an:1}_{b64:40+}{eq}"),
    ("fly-token", "fo1_{url:40+}"),
    ("frameio-token", "fio-u-{url:60+}"),
    ("gandi-token", "pat_gandi_{an:30+}"),
    ("gitea-token", "gto_{an:40+}"),
    ("github-token", "ghp_{an:30-255}"),
    ("github-token", "gho_{an:30-255}"),
    ("github-token", "ghu_{an:30-255}"),
    ("github-token", "ghs_{an:30-255}"),
    ("github-token", "ghr_{an:30-255}"),
    ("github-token", "github_pat_{word:22-255}"),
    ("github-token", "v1.{hex:40}"),
    ("gitlab-token", "glpat-{url:20+}.{d:2}.{an:7+}"),
    ("gitlab-token", "glpat-{url:20+}"),
    ("gitlab-token", "gldt-{url:20+}"),
    ("gitlab-token", "glrt-{url:20+}"),
    ("gitlab-token", "glrtr-{url:20+}"),
    ("gitlab-token", "glcbt-{url:20+}"),
    ("gitlab-token", "glft-{url:20+}"),
    ("gitlab-token", "glagent-{url:20+}"),
    ("gitlab-token", "glptt-{url:20+}"),
    ("gitlab-token", "glsoat-{url:20+}"),
    ("gitlab-token", "glimt-{url:20+}"),
    ("gitlab-token", "gloas-{url:20+}"),
    ("gitlab-token", "glffct-{url:20+}"),
    ("gitlab-token", "GR1348941{url:20+}"),
    ("google-client-secret", "GOCSPX-{url:28+}"),
    ("google-key", "AIza{url:35}"),
    ("google-key", "AQ.Ab{url:40+}"),
    ("google-oauth", "ya29.{url:20+}"),
    ("google-oauth", "ya29.{low:1}.{url:20+}"),
    ("google-oauth", "4/0A{url:40+}"),
    ("google-hmac-key", "GOOG1E{up:50+}"),
    ("google-hmac-key", "GOOG{up:16-24}"),
    ("google-refresh-token", "1//0{url:40+}"),
    ("grafana-token", "eyJrIjoi{b64:40+}{eq}"),
    ("grafana-token", "glc_{b64:32+}{eq}"),
    ("grafana-token", "glsa_{an:32}_{hex:8}"),
    ("groq-key", "gsk_{an:40+}"),
    ("harness-token", "pat.{url:20+}.{an:20+}.{an:16+}"),
    ("hashicorp-token", "{an:14}.atlasv1.{url:60+}"),
    ("heroku-key", "HRKU-{url:36+}"),
    ("hetzner-token", "hcloud_{an:40+}"),
    ("honeycomb-key", "hcaik_{an:40+}"),
    ("honeycomb-key", "hcxik_{an:40+}"),
    ("honeycomb-key", "hcamk_{an:40+}"),
    ("hubspot-token", "pat-na{d:1}-{hex:8}-{hex:4}-{hex:4}-{hex:4}-{hex:12}"),
    ("hubspot-token", "pat-eu{d:1}-{hex:8}-{hex:4}-{hex:4}-{hex:4}-{hex:12}"),
    ("huggingface-token", "hf_{an:30+}"),
    ("huggingface-token", "api_org_{an:34}"),
    ("infracost-key", "ico-{an:32}"),
    ("intercom-token", "dG9rO{b64:50+}{eq}"),
    ("intra42-secret", "s-s4t2ud-{hex:64}"),
    ("intra42-secret", "s-s4t2af-{hex:64}"),
    ("jfrog-token", "AKC{an:60+}"),
    ("jfrog-token", "cmVmdGtu{an:50+}"),
    ("jina-key", "jina_{an:32+}{url:0+}"),
    ("jwt", "eyJ{url:10+}.eyJ{url:10+}.{url:0+}"),
    ("jwt", "eyJ{url:10+}.{url:0+}.{url:10+}.{url:10+}.{url:10+}"),
    ("kubernetes-token", "K10{hex:64}::{an:4+}:^{an:16+}"),
    ("langchain-key", "lsv2_pt_{an:32}_{an:10}"),
    ("langchain-key", "lsv2_sk_{an:32}_{an:10}"),
    ("langfuse-key", "sk-lf-{hex:8}-{hex:4}-{hex:4}-{hex:4}-{hex:12}"),
    ("launchdarkly-key", "api-{hex:8}-{hex:4}-{hex:4}-{hex:4}-{hex:12}"),
    ("launchdarkly-key", "sdk-{hex:8}-{hex:4}-{hex:4}-{hex:4}-{hex:12}"),
    ("launchdarkly-key", "mob-{hex:8}-{hex:4}-{hex:4}-{hex:4}-{hex:12}"),
    ("linear-key", "lin_api_{an:32+}"),
    ("linear-key", "lin_oauth_{an:32+}"),
    ("linear-key", "lin_wh_{an:32+}"),
    ("linkedin-token", "WPL_AP{d:1}.{an:12+}.{b64:6+}{eq}"),
    ("llamacloud-key", "llx-{an:40+}"),
    ("lob-key", "live_{hex:35}"),
    ("lob-key", "test_{hex:35}"),
    ("mailchimp-key", "{hex:32}-us{d:1-2}"),
    ("mailersend-key", "mlsn.{hex:64}"),
    ("mailgun-key", "key-{hex:32}"),
    ("mailgun-key", "{hex:32}-{hex:8}-{hex:8}"),
    ("mapbox-token", "sk.eyJ{url:20+}.{url:20+}"),
    ("mapbox-token", "tk.eyJ{url:20+}.{url:20+}"),
    ("maxmind-key", "{an:6}_{an:29}_mmk"),
    ("mergify-key", "mka_{an:30+}"),
    ("mistral-key", "mstr_{an:30+}"),
    ("mongodb-key", "mdb_sa_sk_{url:40+}"),
    ("neon-key", "napi_{an:40+}"),
    ("netlify-token", "nfp_{an:36+}"),
    ("netlify-token", "nfc_{an:36+}"),
    ("netlify-token", "nfo_{an:36+}"),
    ("newrelic-key", "NRAK-{an:19+}"),
    ("newrelic-key", "eu01xx{an:30+}"),
    ("newrelic-key", "NRJS-{hex:19}"),
    ("newrelic-key", "NRII-{url:32}"),
    ("newrelic-key", "NRRA-{hex:42}"),
    ("newrelic-key", "NRIQ-{url:32}"),
    ("newrelic-key", "{hex:36-40}NRAL"),
    ("ngrok-token", "ngrok_{an:40+}"),
    ("notion-token", "ntn_{an:40+}"),
    ("notion-token", "secret_{an:43}"),
    ("npm-token", "npm_{an:36}"),
    ("nuget-key", "oy2{low:43}"),
    ("nvidia-key", "nvapi-{url:60+}"),
    ("nylas-key", "nyk_v{d:1}_{an:40+}"),
    ("octopus-key", "API-{up:25-32}"),
    ("okta-token", "SSWS 00{url:38+}"),
    ("onepassword-key", "A3-{up:6}-{up:6}-{up:5}-{up:5}-{up:5}-{up:5}"),
    ("onepassword-key", "A3-{up:6}-{up:11}-{up:5}-{up:5}-{up:5}"),
    ("onepassword-token", "ops_eyJ{b64:100+}{eq}"),
    ("openai-key", "sk-{url:20+}"),
    ("openai-session", "sess-{an:40}"),
    ("openshift-token", "sha256~{url:43}"),
    ("paddle-key", "pdl_live_apikey_{an:26}_{an:22}_{an:3}"),
    ("paddle-key", "pdl_sdbx_apikey_{an:26}_{an:22}_{an:3}"),
    ("paddle-key", "pdl_ntfset_{an:26}_{b64:32}"),
    ("password-hash", "$1${crypt:1-16}${crypt:22}"),
    ("password-hash", "$5${crypt:1-16}${crypt:43}"),
    ("password-hash", "$6${crypt:1-16}${crypt:86}"),
    ("password-hash", "$y$j9T${crypt:1-86}${crypt:43}"),
    ("password-hash", "$2y${d:2}${crypt:53}"),
    ("password-hash", "$apr1${crypt:1-16}${crypt:22}"),
    ("paypal-token", "A21AA{url:60+}"),
    ("perplexity-key", "pplx-{an:40+}"),
    ("phc-key", "phx_{an:40+}"),
    ("pinecone-key", "pcsk_{an:5-6}_{an:50+}"),
    ("plaid-token", "access-sandbox-{hex:8}-{hex:4}-{hex:4}-{hex:4}-{hex:12}"),
    ("plaid-token", "access-development-{hex:8}-{hex:4}-{hex:4}-{hex:4}-{hex:12}"),
    ("plaid-token", "access-production-{hex:8}-{hex:4}-{hex:4}-{hex:4}-{hex:12}"),
    ("planetscale-token", "pscale_tkn_{dot:32+}"),
    ("planetscale-token", "pscale_pw_{dot:32+}"),
    ("planetscale-token", "pscale_oauth_{dot:32+}"),
    ("polar-token", "polar_{low:2-4}_{an:30+}"),
    ("posthog-key", "phs_{an:40+}"),
    ("posthog-key", "pha_{an:40+}"),
    ("postman-key", "PMAK-{hex:24}-{hex:34}"),
    ("prefect-key", "pnu_{an:36}"),
    ("prefect-key", "pnb_{an:36}"),
    ("pubnub-key", "sec-c-{hex:8}-{hex:4}-{hex:4}-{hex:4}-{hex:12}"),
    ("pulumi-token", "pul-{hex:40}"),
    ("putty-key", "Private-Lines: {d:1-3}\n^{lines:30+}"),
    ("pypi-token", "pypi-{url:50+}"),
    ("ramp-token", "ramp_tok_{an:40+}"),
    ("razorpay-key", "rzp_live_{an:14+}"),
    ("razorpay-key", "rzp_test_{an:14+}"),
    ("readme-key", "rdme_{an:70}"),
    ("render-key", "rnd_{an:28+}"),
    ("replicate-token", "r8_{an:37}"),
    ("resend-key", "re_{an:8}_{an:24}"),
    ("retool-token", "retool_{url:24+}"),
    ("rootly-key", "rootly_{hex:64}"),
    ("rubygems-key", "rubygems_{hex:48}"),
    ("runpod-key", "rpa_{an:40+}"),
    ("sanity-token", "sk{an:80+}"),
    ("salesforce-token", "00D{an:12-15}!{dot:80+}"),
    ("scaleway-key", "SCW{up:17}"),
    ("scalingo-token", "tk-us-{url:48}"),
    ("sendgrid-key", "SG.{url:16+}.{url:16+}"),
    ("sendinblue-key", "xkeysib-{hex:64}-{an:16}"),
    ("sendinblue-key", "xsmtpsib-{hex:64}-{an:16}"),
    ("sentry-token", "sntrys_{b64:30+}{eq}_{b64:30+}"),
    ("sentry-token", "sntrys_{b64:60+}{eq}"),
    ("sentry-token", "sntryu_{hex:64}"),
    ("sentry-token", "sntrya_{hex:64}"),
    ("settlemint-token", "sm_{low:3}_{an:16+}"),
    ("shippo-token", "shippo_live_{hex:40}"),
    ("shippo-token", "shippo_test_{hex:40}"),
    ("shopify-token", "shpat_{hex:32}"),
    ("shopify-token", "shpss_{hex:32}"),
    ("shopify-token", "shpca_{hex:32}"),
    ("shopify-token", "shppa_{hex:32}"),
    ("shopify-token", "shptka_{hex:32}"),
    ("shopify-token", "atkn_{hex:32+}"),
    ("slack-token", "xoxb-{url:10+}"),
    ("slack-token", "xoxa-{url:10+}"),
    ("slack-token", "xoxp-{url:10+}"),
    ("slack-token", "xoxr-{url:10+}"),
    ("slack-token", "xoxs-{url:10+}"),
    ("slack-token", "xoxo-{url:10+}"),
    ("slack-token", "xoxc-{url:10+}"),
    ("slack-token", "xoxd-{b64:10+}{eq}"),
    ("slack-token", "xoxe-{url:10+}"),
    ("slack-token", "xoxe.xoxp-{url:10+}"),
    ("slack-token", "xoxe.xoxb-{url:10+}"),
    ("slack-token", "xapp-{url:10+}"),
    ("slack-token", "xwfp-{url:10+}"),
    ("slack-webhook", "hooks.slack.com/services/^{slug:20+}"),
    ("slack-webhook", "hooks.slack.com/workflows/^{slug:20+}"),
    ("slack-webhook", "hooks.slack.com/triggers/^{slug:20+}"),
    ("snyk-token", "snyk_{low:2-4}.{hex:8}.{url:20+}"),
    ("sonar-token", "sqp_{hex:40}"),
    ("sonar-token", "squ_{hex:40}"),
    ("sonar-token", "sqa_{hex:40}"),
    ("sonar-token", "sqb_{hex:40}"),
    ("sourcegraph-token", "sgp_{hex:16}_{hex:40}"),
    ("sourcegraph-token", "sgp_local_{hex:40}"),
    ("sourcegraph-token", "sgp_{hex:40}"),
    ("sourcegraph-token", "slk_{hex:64}"),
    ("square-token", "sq0atp-{url:22+}"),
    ("square-token", "sq0csp-{url:22+}"),
    ("square-token", "sq0idp-{url:22+}"),
    ("stripe-key", "sk_live_{an:16+}"),
    ("stripe-key", "sk_test_{an:16+}"),
    ("stripe-key", "sk_org_{an:16+}"),
    ("stripe-key", "sk_prod_{an:16+}"),
    ("stripe-key", "rk_live_{an:16+}"),
    ("stripe-key", "rk_test_{an:16+}"),
    ("stripe-key", "rk_prod_{an:16+}"),
    ("stripe-webhook", "whsec_{b64:16+}{eq}"),
    ("supabase-key", "sbp_{hex:40}"),
    ("supabase-key", "sb_secret_{url:31+}"),
    ("stytch-secret", "secret-live-{url:28+}{eq}"),
    ("stytch-secret", "secret-test-{url:28+}{eq}"),
    ("svix-key", "testsk_{url:28+}"),
    ("tailscale-key", "tskey-{low:3-9}-{an:10+}-{an:20+}"),
    ("tavily-key", "tvly-{url:24+}"),
    ("teams-webhook", "webhook.office.com/webhookb2/^{hex:8}-{hex:4}-{hex:4}-{hex:4}-{hex:12}@{hex:8}-{hex:4}-{hex:4}-{hex:4}-{hex:12}/IncomingWebhook/{slug:32+}"),
    ("teams-webhook", "outlook.office.com/webhook/^{hex:8}-{hex:4}-{hex:4}-{hex:4}-{hex:12}@{hex:8}-{hex:4}-{hex:4}-{hex:4}-{hex:12}/IncomingWebhook/{slug:32+}"),
    ("telegram-token", "{d:8-10}:AA{url:33}"),
    ("telegram-token", "bot{d:8-10}:AA{url:33}"),
    ("thunderstore-token", "tss_{an:30+}"),
    ("together-key", "tgp_v{d:1}_{url:40+}"),
    ("travis-token", "tvs_{an:22+}"),
    ("trello-token", "ATTA{hex:64}{an:8}"),
    ("trigger-key", "tr_{low:3-7}_{an:20+}"),
    ("twilio-key", "SK{hex:32}"),
    ("twitter-token", "AAAAAAAAAAAAAAAAAAAAA{b64:40+}{pct:0+}"),
    ("typeform-token", "tfp_{dot:40+}"),
    ("unkey-key", "unkey_{an:20+}"),
    ("vault-token", "hvs.{url:24+}"),
    ("vault-unseal-key", "Unseal Key {d:1}: ^{b64:43+}{eq}"),
    ("vault-token", "hvb.{url:24+}"),
    ("vault-token", "hvr.{url:24+}"),
    ("vercel-token", "vcp_{an:24+}"),
    ("vercel-token", "vck_{an:24+}"),
    ("vercel-token", "vercel_blob_rw_{an:10+}_{an:20+}"),
    ("wandb-key", "wandb_v1_{url:40+}"),
    ("wakatime-key", "waka_{hex:8}-{hex:4}-{hex:4}-{hex:4}-{hex:12}"),
    ("xai-key", "xai-{an:60+}"),
    ("xata-key", "xau_{an:32+}"),
    ("yandex-token", "y0_{url:50+}"),
    ("yandex-token", "y{d:1}_AgAA{url:40+}"),
    ("yandex-token", "t1.{dot:60+}"),
    ("yandex-token", "AQVN{url:35+}"),
    ("zapier-webhook", "hooks.zapier.com/hooks/catch/^{slug:12+}"),
    ("zuplo-key", "zpka_{an:32}_{hex:8}"),
    ("discord-token", "{discord:24-28}.{url:6}.{url:27-40}"),
];

/// So much of a secret is looked at to tell it from words.
const BODY_BYTES_MAX: usize = 96;

/// A kind of characters, and what runs of them are called in forms.
#[derive(Clone, Copy)]
struct RunKind {
    name: &'static str,
    contains: fn(u8) -> bool,
}

const RUN_KINDS: [RunKind; 16] = [
    RunKind {
        name: "crypt",
        contains: |byte| byte.is_ascii_alphanumeric() || b"./".contains(&byte),
    },
    RunKind {
        name: "lines",
        contains: |byte| byte.is_ascii_alphanumeric() || b"+/=\n ".contains(&byte),
    },
    RunKind {
        name: "an",
        contains: |byte| byte.is_ascii_alphanumeric(),
    },
    RunKind {
        name: "low",
        contains: |byte| byte.is_ascii_lowercase() || byte.is_ascii_digit(),
    },
    RunKind {
        name: "up",
        contains: |byte| byte.is_ascii_uppercase() || byte.is_ascii_digit(),
    },
    RunKind {
        name: "hex",
        contains: |byte| byte.is_ascii_hexdigit(),
    },
    RunKind {
        name: "d",
        contains: |byte| byte.is_ascii_digit(),
    },
    RunKind {
        name: "word",
        contains: |byte| byte.is_ascii_alphanumeric() || byte == b'_',
    },
    RunKind {
        name: "url",
        contains: |byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte),
    },
    RunKind {
        name: "discord",
        contains: |byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte),
    },
    RunKind {
        name: "b64",
        contains: |byte| byte.is_ascii_alphanumeric() || b"+/-_".contains(&byte),
    },
    RunKind {
        name: "slug",
        contains: |byte| byte.is_ascii_alphanumeric() || b"-_/".contains(&byte),
    },
    RunKind {
        name: "dot",
        contains: |byte| byte.is_ascii_alphanumeric() || b"-_.=".contains(&byte),
    },
    RunKind {
        name: "azure",
        contains: |byte| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte),
    },
    RunKind {
        name: "pct",
        contains: |byte| byte.is_ascii_alphanumeric() || b"%=".contains(&byte),
    },
    RunKind {
        name: "eq",
        contains: |byte| byte == b'=',
    },
];

/// A part of a form.
enum FormPart<'f> {
    Fixed(&'f str),
    Run { kind: usize, min: usize, max: usize },
}

impl<'f> FormPart<'f> {
    /// The part that a form begins with, and the rest of the form.
    fn parse(form: &'f str) -> Option<(Self, &'f str)> {
        let Some(run) = form.strip_prefix('{') else {
            let end = form.find('{').unwrap_or(form.len());
            let (fixed, rest) = form.split_at(end);
            return (!fixed.is_empty()).then_some((Self::Fixed(fixed), rest));
        };
        let (run, rest) = run.split_once('}')?;
        let (name, length) = run.split_once(':').unwrap_or((run, "0+"));
        let kind = RUN_KINDS.iter().position(|kind| kind.name == name);
        let (min, max) = match (length.strip_suffix('+'), length.split_once('-')) {
            (Some(min), _) => (min.parse().ok()?, usize::MAX),
            (None, Some((min, max))) => (min.parse().ok()?, max.parse().ok()?),
            (None, None) => (length.parse().ok()?, length.parse().ok()?),
        };
        Some((
            Self::Run {
                kind: kind?,
                min,
                max,
            },
            rest,
        ))
    }
}

/// Where runs end, so that none is read twice: of each kind the last two, since a form
/// may have two runs of one kind.
#[derive(Default)]
struct RunEnds([[Range<usize>; 2]; RUN_KINDS.len()]);

impl RunEnds {
    fn end_of_run(&mut self, text: &[u8], kind: usize, at: usize) -> usize {
        let [last, before] = &mut self.0[kind];
        if !last.contains(&at) {
            std::mem::swap(last, before);
        }
        if !last.contains(&at) {
            let contains = RUN_KINDS[kind].contains;
            let rest = &text[at..];
            let length = rest.iter().position(|byte| !contains(*byte));
            *last = at..at + length.unwrap_or(rest.len());
        }
        last.end
    }
}

/// The rows by the first byte of their form.
struct RowIndex {
    rows: [usize; FORMS.len()],
    begins: [usize; 257],
}

const ROW_INDEX: RowIndex = {
    let mut index = RowIndex {
        rows: [0; FORMS.len()],
        begins: [0; 257],
    };
    let (mut byte, mut filled) = (0, 0);
    while byte < 256 {
        index.begins[byte] = filled;
        let mut row = 0;
        while row < FORMS.len() {
            if FORMS[row].1.as_bytes()[0] as usize == byte {
                index.rows[filled] = row;
                filled += 1;
            }
            row += 1;
        }
        byte += 1;
    }
    index.begins[256] = filled;
    index
};
static ROWS: RowIndex = ROW_INDEX;

impl RowIndex {
    fn rows_from(&self, first: u8) -> &[usize] {
        let first = usize::from(first);
        &self.rows[self.begins[first]..self.begins[first + 1]]
    }
}

/// A row whose form begins with a run.
struct RunForm {
    row: usize,
    kind: usize,
    min: usize,
}

fn forms_of_runs() -> &'static [RunForm] {
    static RUNS: OnceLock<Vec<RunForm>> = OnceLock::new();
    RUNS.get_or_init(|| {
        let rows = ROWS.rows_from(b'{').iter();
        let runs = rows.filter_map(|row| match FormPart::parse(FORMS[*row].1)?.0 {
            FormPart::Fixed(_) => None,
            FormPart::Run { kind, min, max: _ } => Some(RunForm {
                row: *row,
                kind,
                min,
            }),
        });
        runs.collect()
    })
}

/// Finds every secret of a known form.
pub(super) fn find_forms(text: &PlainText<'_>, found: &mut Vec<SecretRange<'_>>) {
    let bytes = text.bytes();
    let runs = forms_of_runs();
    let mut ends = RunEnds::default();
    let mut at = 0;
    while at < bytes.len() {
        let is_word = |at: usize| text.byte(at).is_ascii_alphanumeric() || text.byte(at) == b'_';
        if at > 0 && is_word(at) && is_word(at - 1) {
            at += 1;
            continue;
        }
        let next = text.byte(at + 1);
        let begins = |row: &&usize| {
            let form = FORMS[**row].1.as_bytes();
            form[1] == next || form[1] == b'{'
        };
        let fixed = ROWS.rows_from(bytes[at]).iter().filter(begins);
        let is_run = is_word(at) || matches!(bytes[at], b'-' | b'.' | b'~');
        let runs = runs
            .iter()
            .filter(|run| is_run && ends.end_of_run(bytes, run.kind, at) - at >= run.min);
        let rows: Vec<usize> = fixed.copied().chain(runs.map(|run| run.row)).collect();
        let fits = rows.into_iter().filter_map(|row| {
            let (name, form) = FORMS[row];
            let range = match_form(text, &mut ends, form, at)?;
            // Of two that end at the same place the one with more fixed text wins.
            let fixed = form.find('{');
            Some((range.end, fixed, SecretRange { name, range }))
        });
        // `glpat-` has a longer form with a checksum: the longest one wins.
        if let Some((_, _, fit)) = fits.max_by_key(|(end, fixed, _)| (*end, *fixed)) {
            at = fit.range.end.max(at + 1);
            found.push(fit);
        } else {
            at += 1;
        }
    }
}

/// The secret part of a form that the text fits from there on.
fn match_form(
    text: &PlainText<'_>,
    ends: &mut RunEnds,
    form: &str,
    from: usize,
) -> Option<Range<usize>> {
    let bytes = text.bytes();
    let (mut at, mut begin, mut body, mut rest) = (from, None, None, form);
    while let Some((part, behind)) = FormPart::parse(rest) {
        rest = behind;
        match part {
            FormPart::Fixed(fixed) => {
                let (fixed, is_begin) = match fixed.strip_suffix('^') {
                    Some(fixed) => (fixed, true),
                    None => (fixed, false),
                };
                if !bytes[at..].starts_with(fixed.as_bytes()) {
                    return None;
                }
                at += fixed.len();
                if is_begin {
                    begin = Some(at);
                }
            }
            FormPart::Run { kind, min, max } => {
                let run = ends.end_of_run(bytes, kind, at) - at;
                let is_last = rest.is_empty();
                if run < min || (is_last && run > max) {
                    return None;
                }
                body = body.or(Some(at));
                at += run.min(max);
            }
        }
    }
    let range = begin.unwrap_or(from)..at;
    let body = body.unwrap_or(from).max(range.start)..at;
    let body = text.text(body.start..body.end.min(body.start + BODY_BYTES_MAX));
    let is_words = is_wordy(&body) || is_parted_words(&body);
    (!is_words && !is_placeholder(&body)).then_some(range)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_can_be_read() {
        for (name, form) in FORMS {
            let mut rest = *form;
            while let Some((_, behind)) = FormPart::parse(rest) {
                rest = behind;
            }
            assert!(rest.is_empty() && form.len() > 1, "{name}: {form}");
        }
    }
}
