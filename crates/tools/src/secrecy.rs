//! Which files are not shown to a model because of their names: environments, keys, credentials. A name is only a hint, so
//! this code refuses rather too much. The owner can allow single files again.

use std::path::Path;

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

const ENVIRONMENT: &str = "an environment file";
const KEY: &str = "a private key or a store of keys";
const CREDENTIALS: &str = "a file of credentials";
const WALLET: &str = "a wallet or the access to one";

/// Directories whose contents are never shown.
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

/// The beginnings of file names.
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

/// The endings of file names.
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

/// Files that are recognized only together with the name of their directory.
const PLACES: &[(&str, &str, &str)] = &[
    // The URL of a remote may contain a password.
    (".git", "config", CREDENTIALS),
    (".docker", "config.json", CREDENTIALS),
    ("gh", "hosts.yml", CREDENTIALS),
    ("gcloud", "access_tokens.db", CREDENTIALS),
];

/// Endings of files without secrets: examples to fill in, and public keys.
const HARMLESS: &[&str] = &[".example", ".sample", ".template", ".pub"];

/// Complete names of files without secrets.
const HARMLESS_NAMES: &[&str] = &["example.env", "sample.env", "template.env"];

/// Endings of source code: `credentials.rs` is about credentials and contains none. Languages in which people write settings
/// are not in this list.
const PROGRAM: &[&str] = &[".rs", ".go", ".java", ".kt", ".scala", ".cs", ".swift", ".ts", ".tsx", ".c", ".cc", ".cpp"];

/// The kind of a path, as far as the rules need it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Node {
    /// A directory.
    Directory,
    /// A file, or anything else that can be read.
    File,
    /// A link. It may lead to a directory or a file, so both rules apply to its name.
    Link,
}

/// The rules for refused files, with the owner's exceptions.
#[derive(Clone, Debug, Default)]
pub(crate) struct Secrecy {
    allowed: GlobSet,
}

impl Secrecy {
    /// Returns the rules with exceptions for files that match these globs, relative to the root.
    pub(crate) fn allowing(globs: &[&str]) -> Result<Secrecy, globset::Error> {
        let mut allowed = GlobSetBuilder::new();
        for glob in globs {
            allowed.add(GlobBuilder::new(glob).literal_separator(true).build()?);
        }
        Ok(Secrecy { allowed: allowed.build()? })
    }

    /// Returns what the file or directory is if it is refused. The caller checks its parent directories first.
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

/// Returns the last name of a path in lower case: some file systems treat `.ENV` and `.env` as the same name.
fn lower(path: &Path) -> Option<String> {
    Some(path.file_name()?.to_string_lossy().to_lowercase())
}

#[cfg(test)]
mod tests {
    use super::{Node, Secrecy};
    use std::path::Path;

    #[test]
    fn files_that_may_contain_secrets_are_refused() {
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
    fn other_files_are_not_refused() {
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
