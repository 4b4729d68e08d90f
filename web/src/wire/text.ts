// Texts of the server, as they may be shown. They are untrusted: a character that turns the direction of what follows could make
// one text look like another, so each becomes a replacement character. Right-to-left letters need none of these.

const TURNS = /[\u202A-\u202E\u2066-\u2069]/g;
/** The same in JSON, where such a character may also be an escape. Other escapes are matched too, so that `\\u202e` stays what it is. */
const TURNS_IN_JSON = /[\u202A-\u202E\u2066-\u2069]|\\u(?:202[a-e]|206[6-9])|\\[^]/gi;
const MAY_TURN = /[\u202A-\u202E\u2066-\u2069]|\\u20[26]/i;

const REPLACEMENT = '\uFFFD';

export function inOrder(text: string): string {
  return text.replace(TURNS, REPLACEMENT);
}

/** Reads JSON. Throws if it is not JSON. */
export function parseJson(json: string): unknown {
  if (!MAY_TURN.test(json)) return JSON.parse(json);
  return JSON.parse(json.replace(TURNS_IN_JSON, (found) => (found.length === 2 ? found : REPLACEMENT)));
}
