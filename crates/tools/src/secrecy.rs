//! Which files are not shown to a model, by their names: environments, keys, credentials. A name is only a hint, so this errs
//! on the side of refusing; the owner can allow single files again.

use std::path::Path;

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

const ENVIRONMENT: &str = "an environment file";
const KEY: &str = "a private key or a store of keys";
const CREDENTIALS: &str = "a file of credentials";
const WALLET: &str = "a wallet or the access to one";

/// Directories of which nothing is shown.
const DIRECTORIES: &[&str] =
    &[".ssh", ".gnupg", ".aws", ".azure", ".kube", ".password-store", ".lnd", ".electrum", "keyrings"];

/// File names.
const NAMES: &[(&str, &str)] = &[
    (".env", ENVIRONMENT),
    (".envrc", ENVIRONMENT),
    (".netrc", CREDENTIALS),
    ("_netrc", CREDENTIALS),
    (".npmrc", CREDENTIALS),
    (".pypirc", CREDENTIALS),
    (".pgpass", CREDENTIALS),
    (".my.cnf", CREDENTIALS),
    (".htpasswd", CREDENTIALS),
    (".git-credentials", CREDENTIALS),
    (".dockercfg", CREDENTIALS),
    (".vault-token", CREDENTIALS),
    (".s3cfg", CREDENTIALS),
    (".boto", CREDENTIALS),
    ("kubeconfig", CREDENTIALS),
    ("application_default_credentials.json", CREDENTIALS),
    ("secring.gpg", KEY),
    ("wallet.dat", WALLET),
];

/// How file names begin.
const BEGINNINGS: &[(&str, &str)] = &[
    (".env.", ENVIRONMENT),
    (".env-", ENVIRONMENT),
    (".env_", ENVIRONMENT),
    ("id_rsa", KEY),
    ("id_dsa", KEY),
    ("id_ecdsa", KEY),
    ("id_ed25519", KEY),
    ("credentials", CREDENTIALS),
    (".credentials", CREDENTIALS),
    ("secrets.", CREDENTIALS),
    ("service-account", CREDENTIALS),
    ("service_account", CREDENTIALS),
];

/// How file names end.
const ENDINGS: &[(&str, &str)] = &[
    (".env", ENVIRONMENT),
    (".pem", KEY),
    (".key", KEY),
    (".p12", KEY),
    (".pfx", KEY),
    (".p8", KEY),
    (".ppk", KEY),
    (".jks", KEY),
    (".keystore", KEY),
    (".kdbx", KEY),
    (".kdb", KEY),
    (".kubeconfig", CREDENTIALS),
    (".tfstate", CREDENTIALS),
    (".tfstate.backup", CREDENTIALS),
    (".macaroon", WALLET),
];

/// Files whose names say too little without their directory's.
const PLACES: &[(&str, &str, &str)] = &[
    // A remote's address may carry a password.
    (".git", "config", CREDENTIALS),
    (".docker", "config.json", CREDENTIALS),
    ("gh", "hosts.yml", CREDENTIALS),
    ("gcloud", "access_tokens.db", CREDENTIALS),
];

/// Endings that tell a file that only shows what to fill in, or the public half of a key.
const HARMLESS: &[&str] = &[".example", ".sample", ".template", ".pub"];

/// Whole names that do.
const HARMLESS_NAMES: &[&str] = &["example.env", "sample.env", "template.env"];

/// Endings of program text: `credentials.rs` is about credentials and holds none. Not among them are the languages in which
/// people write their settings.
const PROGRAM: &[&str] = &[".rs", ".go", ".java", ".kt", ".scala", ".cs", ".swift", ".ts", ".tsx", ".c", ".cc", ".cpp"];

/// What something in the file system is, as far as its name counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Node {
    /// A directory.
    Directory,
    /// A file, or anything else that is read.
    File,
    /// A link: it may lead to either, so that its name counts as both.
    Link,
}

/// The rule on what is refused, with the owner's exceptions.
#[derive(Clone, Debug, Default)]
pub(crate) struct Secrecy {
    allowed: GlobSet,
}

impl Secrecy {
    /// The rule with these files excepted, by globs over the path from the root.
    pub(crate) fn allowing(globs: &[&str]) -> Result<Secrecy, globset::Error> {
        let mut allowed = GlobSetBuilder::new();
        for glob in globs {
            allowed.add(GlobBuilder::new(glob).literal_separator(true).build()?);
        }
        Ok(Secrecy { allowed: allowed.build()? })
    }

    /// Says what something beneath the root is if it is refused. Its directories were asked about before it.
    pub(crate) fn refuses(&self, path: &Path, node: Node) -> Option<&'static str> {
        let why = match node {
            Node::Directory => directory(path),
            Node::File => file(path),
            Node::Link => directory(path).or_else(|| file(path)),
        };
        why.filter(|_| !self.allowed.is_match(path))
    }
}

fn directory(path: &Path) -> Option<&'static str> {
    let name = lower(path)?;
    DIRECTORIES.contains(&name.as_str()).then_some("a directory of keys and credentials")
}

fn file(path: &Path) -> Option<&'static str> {
    let name = lower(path)?;
    if HARMLESS.iter().any(|end| name.ends_with(end)) || HARMLESS_NAMES.contains(&name.as_str()) {
        return None;
    }
    let parent = path.parent().and_then(lower).unwrap_or_default();
    let place = PLACES.iter().find(|(directory, file, _)| *directory == parent && *file == name).map(|place| place.2);
    let whole = NAMES.iter().find(|(whole, _)| *whole == name);
    let end = ENDINGS.iter().find(|(end, _)| name.ends_with(end));
    let is_program = PROGRAM.iter().any(|end| name.ends_with(end));
    let beginning = BEGINNINGS.iter().find(|(beginning, _)| !is_program && name.starts_with(beginning));
    place.or_else(|| whole.or(end).or(beginning).map(|(_, why)| *why))
}

/// The last name of a path, small: some file systems don't tell `.ENV` from `.env`.
fn lower(path: &Path) -> Option<String> {
    Some(path.file_name()?.to_string_lossy().to_lowercase())
}

#[cfg(test)]
mod tests {
    use super::{Node, Secrecy};
    use std::path::Path;

    #[test]
    fn files_that_hold_secrets_are_refused() {
        let secrecy = Secrecy::default();
        for path in [
            ".env",
            ".env.local",
            "a/.env.production",
            ".ENV",
            ".envrc",
            ".env_prod",
            "prod.env",
            "id_rsa",
            "id_ed25519",
            "id_ed25519.bak",
            "tls/server.pem",
            "server.KEY",
            "a.p12",
            "a.pfx",
            "x.kdbx",
            ".netrc",
            ".npmrc",
            ".pypirc",
            ".git-credentials",
            "credentials",
            "credentials.json",
            "Credentials.toml",
            "secrets.yaml",
            "secrets.py",
            "kubeconfig",
            "prod.kubeconfig",
            ".git/config",
            "sub/.git/config",
            ".docker/config.json",
            "terraform.tfstate",
            "admin.macaroon",
            "service-account-prod.json",
            "wallet.dat",
            "release.keystore",
        ] {
            assert!(secrecy.refuses(Path::new(path), Node::File).is_some(), "{path}");
            assert!(secrecy.refuses(Path::new(path), Node::Link).is_some(), "{path} as a link");
        }
        for path in [".ssh", "home/.aws", ".gnupg", ".kube", ".SSH"] {
            assert!(secrecy.refuses(Path::new(path), Node::Directory).is_some(), "{path}");
            assert!(secrecy.refuses(Path::new(path), Node::Link).is_some(), "{path} as a link");
        }
    }

    #[test]
    fn other_files_are_not() {
        let secrecy = Secrecy::default();
        for path in [
            ".env.example",
            ".env.sample",
            ".env.template",
            ".env.production.example",
            "example.env",
            "id_rsa.pub",
            "environment.rs",
            "env",
            "env.rs",
            "key.rs",
            "keys.rs",
            "src/credentials.rs",
            "secrets.go",
            "config",
            "git/config",
            "pem.rs",
            "keyboard",
            "monkey",
            "config.json",
            "Cargo.toml",
            ".gitignore",
            "secretary.md",
            "",
        ] {
            assert_eq!(secrecy.refuses(Path::new(path), Node::File), None, "{path}");
        }
        for path in ["src", "credentials", "secrets.d", ".config", ".git", ""] {
            assert_eq!(secrecy.refuses(Path::new(path), Node::Directory), None, "{path}");
        }
    }

    #[test]
    fn the_owner_can_allow_single_files() {
        let secrecy = Secrecy::allowing(&["fixtures/*.pem"]).unwrap();
        assert_eq!(secrecy.refuses(Path::new("fixtures/a.pem"), Node::File), None);
        assert!(secrecy.refuses(Path::new("fixtures/deep/a.pem"), Node::File).is_some());
        assert!(secrecy.refuses(Path::new("a.pem"), Node::File).is_some());
    }
}
