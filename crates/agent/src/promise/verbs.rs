//! The words that tell a promise from everything that resembles one. Lists of words are kept out of rustfmt's hands, which
//! would give each word a line.

/// How a verb comes to the one who is hired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Takes {
    /// It says so by itself; whom is named after "to", if at all: delegate.
    Nothing,
    /// Whom comes next: ask.
    Whom,
    /// Whom comes next and does something: have.
    Doer,
    /// Whom comes next, and then "to" or the like: get.
    Mover,
    /// Whom comes next, or after "to": hand.
    Receiver,
    /// Whom comes after "to": leave.
    Place,
}

/// Verbs of hiring: as they are, with -ing, and how they come to whom.
pub(super) const VERBS: &[(&str, &str, Takes)] = &[
    ("delegate", "delegating", Takes::Nothing),
    ("subcontract", "subcontracting", Takes::Nothing),
    ("outsource", "outsourcing", Takes::Nothing),
    ("reach out to", "reaching out to", Takes::Whom),
    ("get in touch with", "getting in touch with", Takes::Whom),
    ("touch base with", "touching base with", Takes::Whom),
    ("coordinate with", "coordinating with", Takes::Whom),
    ("collaborate with", "collaborating with", Takes::Whom),
    ("consult with", "consulting with", Takes::Whom),
    ("connect with", "connecting with", Takes::Whom),
    ("check with", "checking with", Takes::Whom),
    ("liaise with", "liaising with", Takes::Whom),
    ("partner with", "partnering with", Takes::Whom),
    ("work with", "working with", Takes::Whom),
    ("team up with", "teaming up with", Takes::Whom),
    ("follow up with", "following up with", Takes::Whom),
    ("bring in", "bringing in", Takes::Whom),
    ("call in", "calling in", Takes::Whom),
    ("call on", "calling on", Takes::Whom),
    ("call upon", "calling upon", Takes::Whom),
    ("loop in", "looping in", Takes::Whom),
    ("pull in", "pulling in", Takes::Whom),
    ("kick off", "kicking off", Takes::Whom),
    ("spin up", "spinning up", Takes::Whom),
    ("turn to", "turning to", Takes::Whom),
    ("defer to", "deferring to", Takes::Whom),
    ("ask", "asking", Takes::Whom),
    ("brief", "briefing", Takes::Whom),
    ("call", "calling", Takes::Whom),
    ("consult", "consulting", Takes::Whom),
    ("contact", "contacting", Takes::Whom),
    ("deploy", "deploying", Takes::Whom),
    ("dispatch", "dispatching", Takes::Receiver),
    ("employ", "employing", Takes::Whom),
    ("engage", "engaging", Takes::Whom),
    ("enlist", "enlisting", Takes::Whom),
    ("hire", "hiring", Takes::Whom),
    ("instruct", "instructing", Takes::Whom),
    ("invoke", "invoking", Takes::Whom),
    ("involve", "involving", Takes::Whom),
    ("launch", "launching", Takes::Whom),
    ("query", "querying", Takes::Whom),
    ("recruit", "recruiting", Takes::Whom),
    ("spawn", "spawning", Takes::Whom),
    ("start", "starting", Takes::Whom),
    ("summon", "summoning", Takes::Whom),
    ("task", "tasking", Takes::Whom),
    ("trigger", "triggering", Takes::Whom),
    ("use", "using", Takes::Whom),
    ("have", "having", Takes::Doer),
    ("let", "letting", Takes::Doer),
    ("get", "getting", Takes::Mover),
    ("put", "putting", Takes::Mover),
    ("allocate", "allocating", Takes::Receiver),
    ("assign", "assigning", Takes::Receiver),
    ("distribute", "distributing", Takes::Place),
    ("entrust", "entrusting", Takes::Receiver),
    ("escalate", "escalating", Takes::Place),
    ("farm", "farming", Takes::Place),
    ("forward", "forwarding", Takes::Receiver),
    ("give", "giving", Takes::Receiver),
    ("hand", "handing", Takes::Receiver),
    ("leave", "leaving", Takes::Place),
    ("offload", "offloading", Takes::Place),
    ("pass", "passing", Takes::Receiver),
    ("reassign", "reassigning", Takes::Place),
    ("refer this", "referring this", Takes::Place),
    ("kick", "kicking", Takes::Place),
    ("relay", "relaying", Takes::Place),
    ("route", "routing", Takes::Place),
    ("send", "sending", Takes::Receiver),
    ("split", "splitting", Takes::Place),
    ("submit", "submitting", Takes::Place),
    ("transfer", "transferring", Takes::Place),
    ("turn", "turning", Takes::Place),
];

/// After which words somebody receives.
pub(super) const TOWARD: &[&str] = &["to", "among", "amongst", "between", "across"];

/// What a speaker says before a verb as it is in order to promise it.
#[rustfmt::skip]
pub(super) const WILL: &[&str] = &[
    "i'll", "i will", "i shall", "we'll", "we will", "we shall", "let me", "let's", "let us", "i'm going to",
    "i am going to", "we're going to", "we are going to", "i'm gonna", "i'm about to", "i am about to", "i plan to",
    "i intend to", "i need to", "i have to", "i must", "i hereby", "my next step is to", "my next step will be to",
    "the next step is to",
];

/// What a speaker says before a verb with -ing.
pub(super) const AM: &[&str] = &["i'm", "i am", "im", "we're", "we are", "i'll be", "i will be", "we'll be"];

/// Words that may stand between those and the verb.
#[rustfmt::skip]
pub(super) const BETWEEN: &[&str] = &[
    "now", "also", "just", "next", "first", "immediately", "currently", "directly", "therefore", "promptly",
    "quickly", "simply", "gladly", "happily", "actually", "then", "again", "hereby", "already", "go", "ahead", "and",
    "by", "proceed", "try", "begin", "start", "starting", "with",
];

/// Obligations that may stand there, too.
pub(super) const OBLIGED: &[&str] = &["have to", "need to", "want to", "proceed to", "try to"];

/// Words with which a sentence may begin before a verb with -ing.
#[rustfmt::skip]
pub(super) const OPENERS: &[&str] = &[
    ",", "ok", "okay", "sure", "great", "alright", "understood", "now", "next", "first", "then", "so", "currently",
    "step", "status", "action", "1", "2", "3",
];

/// What makes an -ing at the beginning of a sentence its subject.
#[rustfmt::skip]
pub(super) const FINITE: &[&str] = &[
    "is", "isn't", "are", "aren't", "was", "wasn't", "were", "be", "would", "wouldn't", "could", "can", "can't",
    "may", "might", "will", "won't", "should", "shouldn't", "must", "has", "had", "does", "doesn't", "did", "didn't",
    "makes", "made", "helps", "helped", "keeps", "kept", "saves", "saved", "means", "meant", "requires", "required",
    "allows", "allowed", "lets", "works", "worked", "costs", "cost", "adds", "added", "seems", "reduces", "reduced",
    "improves", "gives", "gave", "takes", "took", "ensures", "comes", "needs", "avoids", "failed", "fails", "leads",
    "led", "seemed", "returned", "returns", "refused",
];

/// Those whose own verb that may be instead: "who will look".
pub(super) const RELATIVE: &[&str] = &["who", "which", "that", "it", "they", "he", "she", "what", "and"];

/// After these a speaker no longer says what it does itself.
#[rustfmt::skip]
pub(super) const ELSEWHERE: &[&str] = &[
    "how", "what", "why", "when", "that", "which", "who", "whether", "you", "your", "recommend", "suggest", "not",
    "without", "instead", "rather", "than", "explain", "describe", "advise", "never", "don't", "won't", "avoid",
    "propose",
];

/// Where something is made to depend on the user, or on the course of events.
#[rustfmt::skip]
pub(super) const IF_YOU: &[&str] = &[
    "unless", "otherwise", "once you", "once you've", "once you're", "when you've", "when you're", "after you've",
    "as soon as you've", "when you", "after you", "until you", "as soon as you", "should you", "once approved",
    "once confirmed", "with your approval", "with your permission", "with your go", "on your approval",
    "upon your approval", "upon approval", "let me know", "tell me", "say the word", "confirm and", "please confirm",
    "just confirm",
];

/// After these an "if" tells what is to be found out.
#[rustfmt::skip]
pub(super) const FINDS_OUT: &[&str] = &[
    "see", "check", "determine", "verify", "know", "confirm", "test", "out", "evaluate", "decide", "tell", "ask",
    "look", "assess", "investigate",
];

/// Before these an "if" is a condition, whatever was before it.
#[rustfmt::skip]
pub(super) const CONDITION: &[&str] =
    &[
    "you", "you'd", "you're", "needed", "necessary", "required", "so", "i", "we", "possible",
];

/// What a program delegates to, or has delegated.
#[rustfmt::skip]
pub(super) const PROGRAM: &[&str] = &[
    "api", "base", "block", "browser", "button", "call", "callback", "calls", "class", "classes", "click", "clicks",
    "closure", "code", "compiler", "component", "config", "constructor", "port", "container", "controller",
    "database", "element", "event", "events", "field", "function", "functions", "getter", "handler", "handlers",
    "handling", "helper", "impl", "implementation", "inner", "interface", "iterator", "kernel", "layer", "library",
    "listener", "loop", "method", "methods", "middleware", "module", "object", "operator", "parser", "process",
    "property", "protocol", "proxy", "rendering", "router", "runtime", "self", "server", "service", "setter",
    "struct", "super", "superclass", "system", "thread", "trait", "type", "view", "widget", "wrapper",
];

/// What belongs to somebody, and is not somebody.
#[rustfmt::skip]
pub(super) const THINGS: &[&str] = &[
    "answer", "answers", "api", "approach", "budget", "class", "code", "config", "configuration", "credit", "data",
    "dates", "definition", "description", "details", "document", "documentation", "feature", "file", "files",
    "finding", "findings", "flow", "framework", "function", "interface", "list", "log", "logs", "loop", "module",
    "name", "names", "number", "option", "options", "output", "outputs", "page", "pattern", "plan", "platform",
    "price", "prices", "process", "prompt", "prompts", "report", "reports", "response", "result", "results", "role",
    "script", "section", "server", "service", "settings", "string", "summary", "system", "template", "test", "tests",
    "tool", "tools", "type", "work",
];

/// Somebody who can be hired, whatever the name.
#[rustfmt::skip]
pub(super) const SOMEBODY: &[&str] = &[
    "agent", "agents", "subagent", "subagents", "specialist", "specialists", "expert", "experts", "team", "teams",
    "teammate", "teammates", "colleague", "colleagues", "researcher", "researchers", "subcontractor",
    "subcontractors", "children",
];

/// What turns one of those into somebody else's, or one who hires.
#[rustfmt::skip]
pub(super) const OTHERS: &[&str] = &[
    "parent", "main", "head", "lead", "calling", "requesting", "user", "estate", "travel", "insurance", "customs",
    "human", "support", "booking", "your", "legal", "medical", "financial", "sales", "their", "his", "her", "domain",
];

/// What may come before somebody.
#[rustfmt::skip]
pub(super) const DETERMINERS: &[&str] = &[
    "the", "a", "an", "my", "our", "one", "of", "each", "both", "all", "two", "three", "four", "five", "six",
    "several", "some", "another", "these", "those", "other", "own", "dedicated", "specialized", "specialised",
    "appropriate", "relevant", "right", "available", "child", "sub", "following", "new", "separate", "out", "more",
    "multiple", "parallel", "2", "3", "4", "5",
];

/// What makes agents the speaker's own, or new ones.
pub(super) const OWN: &[&str] = &["my", "our", "a", "an", "another", "sub", "child"];

/// What begins somebody anew.
pub(super) const ARTICLES: &[&str] = &["the", "a", "an", "my", "our"];

/// What may come between two of whom.
pub(super) const JOINS: &[&str] = &[",", "and", "or", "plus", "then", "as", "well", "along", "with", "also"];

/// What never is part of somebody's name.
#[rustfmt::skip]
pub(super) const BOUNDS: &[&str] = &[
    ",", "and", "or", "to", "for", "with", "about", "at", "on", "in", "from", "by", "that", "which", "whether", "if",
    "because", "since", "before", "after", "is", "are", "was", "will", "you", "user", "me", "it", "this", "what",
    "how", "into", "as", "so", "not", "no", "without", "look", "when", "where", "why", "than", "against", "be",
    "been", "between", "like", "using",
];

/// What may follow a name that lost its "agent".
#[rustfmt::skip]
pub(super) const AFTER_BARE: &[&str] = &[
    ",", "to", "for", "with", "about", "on", "now", "and", "or", "first", "next", "then", "immediately", "right",
    "as",
];
