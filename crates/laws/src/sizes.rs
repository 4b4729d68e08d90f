//! Sizes of texts, as the next request pays for them. A text that a model wrote counts by the tokens that the model
//! reported for the text, plus a quarter; every other text counts by its bytes, because a token is at least one byte.
//!
//! All sizes are lower bounds: frames, and texts whose size no fact states, are left out.

use guildhall_kernel::{Brief, NOTICE_BYTES_MAX, OwnSize, Report, Wording};

/// Returns the size of a model's own text for the same model.
pub(crate) fn of_own(size: OwnSize) -> u64 {
    let OwnSize { bytes, tokens } = size;
    let (bytes, tokens) = (u64::from(bytes), u64::from(tokens));
    if tokens == 0 {
        return bytes;
    }
    let quarter = if tokens % 4 == 0 { tokens / 4 } else { tokens / 4 + 1 };
    bytes.min(tokens + quarter)
}

/// Returns the size that the report of this hire adds to a request of the hirer: the text, the task and the notice.
pub(crate) fn of_report(hire: &Brief, report: &Report) -> u64 {
    let (Wording::Final(text) | Wording::Assembled(text)) = report.text;
    // Another model counts tokens in another way.
    let tokens = if hire.same_model { report.tokens } else { 0 };
    let output = report.output.map_or(0, |output| u64::from(output.bytes));
    let text = of_own(OwnSize { bytes: text.bytes, tokens });
    text + output + u64::from(hire.task.bytes) + NOTICE_BYTES_MAX
}

#[cfg(test)]
mod tests {
    use guildhall_kernel::OwnSize;

    use super::of_own;

    #[test]
    fn a_text_of_a_model_has_five_quarters_of_its_tokens_and_at_most_its_bytes() {
        let size = |bytes, tokens| of_own(OwnSize { bytes, tokens });
        assert_eq!((size(4000, 1000), size(4000, 1001), size(4000, 1003)), (1250, 1252, 1254));
        assert_eq!((size(4000, 3200), size(4000, 3201), size(4000, u32::MAX)), (4000, 4000, 4000));
        assert_eq!((size(4000, 0), size(0, 7), size(4000, 1)), (4000, 0, 2));
    }
}
