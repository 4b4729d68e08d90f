//! Texts on their way into the journal and back. All texts pass here: secrets are taken out of a text before it gets its hash. A
//! stored text can be missing or damaged on the disk. That is an error, never a panic.

use std::borrow::Cow;
use std::fmt::{self, Write as _};
use std::sync::{Arc, LazyLock};

use guildhall_kernel::{Hash, TextKind, TextRef};

use crate::model::Reply;

/// A text with the reference by which facts name it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Text {
    /// The reference to the text.
    pub of: TextRef,
    /// The text itself.
    pub says: String,
}

impl Text {
    /// Makes a text of a string without secrets. A string that is too long for a reference is cut.
    pub fn of_clean(kind: TextKind, mut says: String) -> Text {
        says.truncate(says.floor_char_boundary(u32::MAX as usize));
        let bytes = u32::try_from(says.len()).expect("it was cut to fit");
        Text { of: TextRef { hash: hash(says.as_bytes()), bytes, kind }, says }
    }
}

/// A text that is made when it is first needed. All copies share it.
#[derive(Clone)]
pub struct LazyText(Arc<LazyLock<MadeText, MakeText>>);

type MakeText = Box<dyn FnOnce() -> MadeText + Send>;

struct MadeText {
    of: Arc<TextRef>,
    text: Text,
}

impl LazyText {
    /// Takes the function that makes the text.
    pub fn new(make: impl FnOnce() -> Text + Send + 'static) -> LazyText {
        let make = || {
            let text = make();
            MadeText { of: Arc::new(text.of), text }
        };
        LazyText(Arc::new(LazyLock::new(Box::new(make))))
    }

    /// Returns the text.
    pub fn text(&self) -> &Text {
        &self.0.text
    }

    /// Returns the reference by which facts name the text.
    pub fn of(&self) -> Arc<TextRef> {
        Arc::clone(&self.0.of)
    }
}

impl fmt::Debug for LazyText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LazyText")
    }
}

/// Two are equal if they share their text. A comparison makes no text.
impl PartialEq for LazyText {
    fn eq(&self, other: &LazyText) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// The shortest secret, in bytes. A shorter value, such as the dummy key of a local server, is too likely to be a part of
/// ordinary words.
pub const SECRET_BYTES_MIN: usize = 8;

/// Whether a character is invisible: a control character, a change of direction, a character without width, or one that can
/// hide a text within another. Besides control characters, line ends and annotations, these are the characters that Unicode
/// calls ignorable by default.
pub fn is_unseen(letter: char) -> bool {
    letter.is_control()
        || matches!(letter,
            '\u{ad}'
            | '\u{34f}'
            | '\u{61c}'
            | '\u{115f}'..='\u{1160}'
            | '\u{17b4}'..='\u{17b5}'
            | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{3164}'
            | '\u{fe00}'..='\u{fe0f}'
            | '\u{feff}'
            | '\u{ffa0}'
            | '\u{fff0}'..='\u{fffb}'
            | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}')
}

/// Writes the invisible characters of JSON as escapes, so that a terminal can show it. The meaning of the JSON stays the same:
/// outside of strings, the only invisible characters are line breaks, and they are kept.
pub fn escape_unseen(json: String) -> String {
    if json.bytes().all(|byte| byte == b'\n' || (b' '..=b'~').contains(&byte)) {
        return json;
    }
    let mut escaped = String::with_capacity(json.len());
    for letter in json.chars() {
        if is_unseen(letter) && letter != '\n' {
            for unit in letter.encode_utf16(&mut [0; 2]) {
                write!(escaped, "\\u{unit:04x}").expect("writing to a string can't fail");
            }
        } else {
            escaped.push(letter);
        }
    }
    escaped
}

/// Takes secrets out of a text.
pub type Redact = Arc<dyn Fn(&str) -> Cow<'_, str> + Send + Sync>;

/// Takes secrets out of the output of models, tools and people.
#[derive(Clone)]
pub struct Redactor {
    redact: Redact,
}

/// The longest label of a contract, in bytes.
pub const LABEL_BYTES_MAX: usize = 80;

impl Redactor {
    /// Makes a label of a model's name for a piece of work: one line without invisible characters, cut to
    /// [`LABEL_BYTES_MAX`]. `None` if nothing is left.
    pub fn label(&self, name: &str) -> Option<Text> {
        // Half a secret would not be recognized, so the cut comes last.
        let clean = self.clean(name);
        let seen: String = clean.chars().map(|letter| if is_unseen(letter) { ' ' } else { letter }).collect();
        let line = seen.split_whitespace().collect::<Vec<_>>().join(" ");
        let label = line[..line.floor_char_boundary(LABEL_BYTES_MAX)].trim_end();
        (!label.is_empty()).then(|| Text::of_clean(TextKind::Label, label.to_owned()))
    }

    /// Makes a redactor that uses `redact` to take secrets out.
    pub fn new(redact: Redact) -> Redactor {
        Redactor { redact }
    }

    /// Makes a text without secrets. JSON stays JSON.
    pub fn text(&self, kind: TextKind, says: &str) -> Text {
        Text::of_clean(kind, self.clean(says).into_owned())
    }

    /// Takes secrets out of a text, without regard to its format.
    pub(crate) fn redact<'a>(&self, text: &'a str) -> Cow<'a, str> {
        (self.redact)(text)
    }
}

/// Cuts a text to so many characters, marks the cut with `…`, and leaves control characters out.
pub(crate) fn shortened(text: &str, chars_max: usize) -> String {
    let end = text.char_indices().nth(chars_max).map(|(end, _)| end);
    let seen = |text: &str| text.chars().filter(|letter| !letter.is_control()).collect::<String>();
    end.map_or_else(|| seen(text), |end| format!("{}…", seen(text[..end].trim_end())))
}

/// Returns the hash under which a text is stored.
pub fn hash(bytes: &[u8]) -> Hash {
    Hash(*blake3::hash(bytes).as_bytes())
}

/// Returns the hash of a task. Case, the number of blanks, and punctuation at the start or end make no difference.
pub fn task_key(task: &str) -> Hash {
    let words = task.split_whitespace().map(str::to_lowercase).collect::<Vec<_>>().join(" ");
    hash(words.trim_matches(|c: char| c.is_ascii_punctuation()).as_bytes())
}

/// Why a stored text can't be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the names say it")]
pub enum TextError {
    /// The text is not stored.
    #[error("the {} with hash {} is not stored", kind(.0), .0.hash)]
    Missing(TextRef),
    /// The store can't read the text.
    #[error("the {} with hash {} can't be read: {why}", kind(.of), .of.hash)]
    Damaged { of: TextRef, why: String },
    /// The text does not have the form of its kind.
    #[error("the {} with hash {} is not valid: {why}", kind(.of), .of.hash)]
    Invalid { of: TextRef, why: String },
}

impl TextError {
    /// Returns which text can't be read.
    pub fn of(&self) -> &TextRef {
        match self {
            TextError::Missing(of) | TextError::Damaged { of, .. } | TextError::Invalid { of, .. } => of,
        }
    }
}

fn kind(of: &TextRef) -> &'static str {
    match of.kind {
        TextKind::Task => "task",
        TextKind::Term => "term",
        TextKind::Reply => "model reply",
        TextKind::Words => "text of a model reply",
        TextKind::Output => "structured output",
        TextKind::Arguments => "call arguments",
        TextKind::Result => "tool result",
        TextKind::Message => "message",
        TextKind::Finding => "finding of a check",
        TextKind::Error => "error text",
        TextKind::Label => "label",
        TextKind::Opening => "text of the system prompt and tools",
        TextKind::Prices => "setup of a session",
        TextKind::Invoice => "invoice",
        TextKind::Url => "address of a server",
    }
}

/// A store of texts. The texts that a fact names are stored before the fact.
pub trait Texts: Sync {
    /// Returns a stored text.
    fn text(&self, of: &TextRef) -> Result<String, TextError>;

    /// Returns a stored reply.
    fn reply(&self, of: &TextRef) -> Result<Arc<Reply>, TextError> {
        stored_reply(of, &self.text(of)?).map(Arc::new)
    }
}

/// Reads a reply as it was stored.
pub fn stored_reply(of: &TextRef, says: &str) -> Result<Reply, TextError> {
    serde_json::from_str(says).map_err(|why| TextError::Invalid { of: *of, why: why.to_string() })
}
