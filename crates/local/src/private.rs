//! Files and directories that only their owner can read.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io;
use std::path::Path;

/// Returns options that create files which only their owner can read.
pub fn private_file() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// Opens an existing regular file. A link, a directory or a pipe is an error: another program put it there, and a pipe can wait
/// forever for its other end.
pub fn open_regular(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    let not_regular = || io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file");
    if !path.symlink_metadata()?.is_file() {
        return Err(not_regular());
    }
    // The file can be replaced after the check.
    #[cfg(unix)]
    {
        use rustix::fs::OFlags;
        use std::os::unix::fs::OpenOptionsExt;
        options.custom_flags((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed());
    }
    let file = options.open(path)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(not_regular()) }
}

/// Opens a file for a lock, or creates it. Only a regular file is opened.
pub fn open_lock(path: &Path) -> io::Result<File> {
    let existing = || open_regular(path, OpenOptions::new().append(true));
    match existing() {
        Err(why) if why.kind() == io::ErrorKind::NotFound => {
            match private_file().append(true).create_new(true).open(path) {
                // Another process was faster.
                Err(why) if why.kind() == io::ErrorKind::AlreadyExists => existing(),
                created => created,
            }
        }
        opened => opened,
    }
}

/// Creates a directory that only its owner can read, and its parents, unless it exists.
pub fn create_private_dir(dir: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(dir)
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs::{self, OpenOptions};
    use std::os::unix::fs::{PermissionsExt, symlink};

    use rustix::fs::{CWD, FileType, Mode, mknodat};

    use super::{open_lock, open_regular};

    #[test]
    fn only_regular_files_are_opened_and_a_pipe_does_not_wait() {
        let dir = tempfile::tempdir().unwrap();
        let [file, link, pipe] = ["file", "link", "pipe"].map(|name| dir.path().join(name));
        fs::write(&file, "mine").unwrap();
        symlink(&file, &link).unwrap();
        mknodat(CWD, &pipe, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        open_regular(&file, OpenOptions::new().append(true)).unwrap();
        for path in [link.as_path(), &pipe, dir.path()] {
            for options in [OpenOptions::new().read(true), OpenOptions::new().append(true)] {
                let refused = open_regular(path, options).unwrap_err().to_string();
                assert_eq!(refused, "it is not a regular file", "{}", path.display());
            }
            assert_eq!(open_lock(path).unwrap_err().to_string(), "it is not a regular file", "{}", path.display());
        }
        open_lock(&file).unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "mine");
        let fresh = dir.path().join("fresh");
        open_lock(&fresh).unwrap();
        assert_eq!(fs::metadata(&fresh).unwrap().permissions().mode() & 0o777, 0o600);
    }
}
