//! Reads the times that LNbits writes, such as `2026-11-16T18:03:46.664405+00:00`.

const DAY_SECONDS: u64 = 24 * 60 * 60;

/// Reads a time as milliseconds since 1970. Only times with an offset are read, from 1970 to 9999.
pub(crate) fn read(text: &str) -> Option<u64> {
    let (date, rest) = text.split_once('T')?;
    let [year, month, day] = numbers(date, '-', [4, 2, 2])?;
    let days = days_since_1970(year, month, day)?;
    let (clock, offset_seconds) = split_offset(rest)?;
    let (clock, fraction) = clock.split_once('.').unwrap_or((clock, "0"));
    let [hour, minute, second] = numbers(clock, ':', [2, 2, 2])?;
    let is_fraction = !fraction.is_empty() && fraction.len() <= 9 && fraction.bytes().all(|byte| byte.is_ascii_digit());
    if hour > 23 || minute > 59 || second > 59 || !is_fraction {
        return None;
    }
    let millis: u64 = format!("{fraction:0<3}")[..3].parse().ok()?;
    let seconds = days * DAY_SECONDS + hour * 3600 + minute * 60 + second;
    seconds.checked_add_signed(-offset_seconds)?.checked_mul(1000)?.checked_add(millis)
}

/// Splits `18:03:46+02:00` into the clock and the seconds that it is ahead.
fn split_offset(text: &str) -> Option<(&str, i64)> {
    if let Some(clock) = text.strip_suffix('Z') {
        return Some((clock, 0));
    }
    let (clock, offset) = text.split_at_checked(text.rfind(['+', '-'])?)?;
    let [hours, minutes] = numbers(&offset[1..], ':', [2, 2])?;
    let seconds = i64::try_from(hours * 3600 + minutes * 60).ok()?;
    Some((clock, if offset.starts_with('-') { -seconds } else { seconds }))
}

/// Reads numbers of fixed widths with a separator between them.
fn numbers<const N: usize>(text: &str, separator: char, widths: [usize; N]) -> Option<[u64; N]> {
    let mut parts = text.split(separator);
    let mut numbers = [0; N];
    for (number, width) in numbers.iter_mut().zip(widths) {
        let part = parts.next()?;
        let is_number = part.len() == width && part.bytes().all(|byte| byte.is_ascii_digit());
        *number = is_number.then(|| part.parse().ok())??;
    }
    parts.next().is_none().then_some(numbers)
}

fn days_since_1970(year: u64, month: u64, day: u64) -> Option<u64> {
    let is_leap = |year: u64| year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let february = if is_leap(year) { 29 } else { 28 };
    let months = [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let before = usize::try_from(month).ok()?.checked_sub(1)?;
    if year < 1970 || day == 0 || day > *months.get(before)? {
        return None;
    }
    let leap_years = (1970..year).filter(|year| is_leap(*year)).count();
    let days = (year - 1970) * 365 + u64::try_from(leap_years).ok()? + months[..before].iter().sum::<u64>();
    Some(days + day - 1)
}

#[cfg(test)]
mod tests {
    use super::read;

    #[test]
    fn the_times_of_lnbits_are_read() {
        let cases = [
            ("1970-01-01T00:00:00Z", 0),
            ("2026-11-16T18:03:46.664405+00:00", 1_794_852_226_664),
            ("2026-11-16T18:03:46+00:00", 1_794_852_226_000),
            ("2026-11-16T20:03:46.6+02:00", 1_794_852_226_600),
            ("2024-02-29T23:59:59.999999-01:30", 1_709_256_599_999),
            ("2000-03-01T00:00:00Z", 951_868_800_000),
        ];
        for (text, expected) in cases {
            assert_eq!(read(text), Some(expected), "{text}");
        }
    }

    #[test]
    fn other_texts_are_not_times() {
        let texts = "
            2026-11-16T18:03:46
            2026-11-16 18:03:46+00:00
            2026-02-29T00:00:00Z
            2026-13-01T00:00:00Z
            2026-00-01T00:00:00Z
            2026-11-00T00:00:00Z
            1969-12-31T23:59:59Z
            2026-11-16T24:00:00Z
            2026-11-16T18:03:46.Z
            2026-11-16T18:03:46.0000000001Z
            2026-11-16T18:03:46+0000
            1970-01-01T00:00:00+01:00
            1794852226
            ٢026-11-16T18:03:46Z
            2026-11-16T18:03:46é+00:00
            T";
        for text in texts.lines().map(str::trim) {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
