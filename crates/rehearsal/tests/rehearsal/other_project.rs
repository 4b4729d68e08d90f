//! The same team on another project, in another language, with another fault.

use std::fs;
use std::path::Path;

use tempfile::TempDir;

use crate::cited::{chain, checked};
use crate::driver::Hall;
use crate::example::Example;
use crate::team::Team;

const FILES: &[(&str, &str)] = &[
    (
        "config/default.json",
        r#"{
  "httpPort": 3000,
  "sessionStore": {
    "cachePort": 6380,
    "cacheHost": "cache.internal",
    "sessionTtl": 3600
  },
  "uploads": { "maxUploadBytes": 1048576 }
}
"#,
    ),
    (
        "docs/operations.md",
        "# Operations
The cache listens on 6379. Sessions live for `sessionTtl` seconds.
Uploads are limited by `maxUploadBytes`.
",
    ),
    (
        "logs/web.log",
        "2026-05-02T08:00:01Z info listening httpPort=3000
2026-05-02T08:00:09Z error login failed for mia: CacheUnreachable connect ECONNREFUSED cache.internal:6380
2026-05-02T08:00:12Z info upload done 201
2026-05-02T08:00:19Z error login failed for tom: CacheUnreachable connect ECONNREFUSED cache.internal:6380
2026-05-02T08:01:09Z error login failed for ida: CacheUnreachable connect ECONNREFUSED cache.internal:6380
",
    ),
    (
        "src/cacheClient.js",
        r#"const net = require("net");
const config = require("../config/default.json");

class CacheClient {
  constructor() {
    this.port = config.sessionStore.cachePort;
    this.host = config.sessionStore.cacheHost;
  }
  connect() {
    return new Promise((resolve, reject) => {
      const socket = net.connect(this.port, this.host, () => resolve(socket));
      socket.on("error", (error) => reject(new CacheUnreachable(`${error.message}`)));
    });
  }
}
class CacheUnreachable extends Error {}
module.exports = { CacheClient, CacheUnreachable };
"#,
    ),
    (
        "src/login.js",
        r#"const { CacheClient, CacheUnreachable } = require("./cacheClient");
async function login(request, response) {
  const cache = new CacheClient();
  try {
    const socket = await cache.connect();
    socket.write(`SET session:${request.user} 1`);
    response.status(200).end();
  } catch (error) {
    console.error(`login failed for ${request.user}: CacheUnreachable ${error.message}`);
    response.status(503).end();
  }
}
module.exports = { login };
"#,
    ),
    (
        "src/upload.js",
        r#"const config = require("../config/default.json");
function upload(request, response) {
  if (request.length > config.uploads.maxUploadBytes) return response.status(413).end();
  response.status(201).end();
}
module.exports = { upload };
"#,
    ),
    (
        "test/cacheClient.test.js",
        r#"const { CacheClient } = require("../src/cacheClient");
test("the client takes its port from cachePort", () => { expect(new CacheClient().port).toBe(6379); });
"#,
    ),
];

async fn ask(question: &str, root: &Path) -> String {
    for (path, text) in FILES {
        fs::create_dir_all(root.join(path).parent().unwrap()).unwrap();
        fs::write(root.join(path), text).unwrap();
    }
    let team = Team::read(&Example::payment().root.join("agents"));
    let answer = Hall::new(team, root).run(question).await.answer;
    checked(&answer, root);
    answer
}

async fn check(question: &str, expected: [&str; 3]) {
    let root = TempDir::new().unwrap();
    let answer = ask(question, root.path()).await;
    let chain: Vec<String> = chain(&answer).iter().map(|(cited, _)| format!("{}:{}", cited.path, cited.line)).collect();
    assert_eq!(chain, expected, "{answer}");
}

#[tokio::test]
async fn a_wrong_port_is_traced_from_the_log_to_the_line_that_reads_the_setting() {
    check("Why does login fail?", ["logs/web.log:2", "config/default.json:4", "src/cacheClient.js:6"]).await;
}

#[tokio::test]
async fn the_answer_to_a_question_without_trouble_is_not_about_trouble() {
    check("What limits uploads?", ["docs/operations.md:3", "config/default.json:8", "src/upload.js:3"]).await;
}
