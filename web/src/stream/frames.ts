// Reads the bytes of server-sent events, however they are cut into parts. Pure: bytes in, frames out.

/** One event of the stream, before its data is read. */
export interface Frame {
  readonly name: string;
  /** The id of this event. `null` if it has none. */
  readonly id: string | null;
  readonly data: string;
  /** When the server stored the event, in milliseconds since 1970. Only events that happen while one watches say it. */
  readonly durable: number | null;
}

/** The longest event that is read, in UTF-16 units. An event of the server is at most about 100 kB. */
const FRAME_MAX = 8 * 1024 * 1024;

/** A stream that is not one of server-sent events. */
class BadStream extends Error {}

export class FrameReader {
  // `ignoreBOM: false` drops a byte order mark at the start, as the format demands.
  readonly #decoder = new TextDecoder('utf-8', { ignoreBOM: false });
  /** The parts of the line that has not ended. */
  #line: string[] = [];
  #held = 0;
  #endedWithReturn = false;
  #name = '';
  #id: string | null = null;
  #data: string[] = [];
  #durable: number | null = null;

  /** Takes the next bytes, and returns the events that they complete. */
  push(bytes: Uint8Array): Frame[] {
    const frames: Frame[] = [];
    let text = this.#decoder.decode(bytes, { stream: true });
    // A line ends with "\r", "\n" or "\r\n". The two characters of the last may come in two parts.
    if (this.#endedWithReturn && text.startsWith('\n')) text = text.slice(1);
    if (text !== '') this.#endedWithReturn = text.endsWith('\r');
    const lines = text.split(/\r\n|\r|\n/);
    const rest = lines.pop() ?? '';
    for (const line of lines) {
      this.#line.push(line);
      const frame = this.#take(this.#line.join(''));
      this.#line = [];
      if (frame !== null) frames.push(frame);
    }
    if (rest !== '') this.#line.push(rest);
    this.#held += text.length;
    if (frames.length > 0) this.#held = rest.length;
    if (this.#held > FRAME_MAX) throw new BadStream('an event of the stream is too long');
    return frames;
  }

  #take(line: string): Frame | null {
    if (line === '') return this.#end();
    const colon = line.indexOf(':');
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? '' : line.slice(colon + (line[colon + 1] === ' ' ? 2 : 1));
    if (field === '') this.#comment(value);
    else if (field === 'event') this.#name = value;
    else if (field === 'data') this.#data.push(value);
    else if (field === 'id' && !value.includes('\0')) this.#id = value;
    return null;
  }

  #comment(value: string): void {
    const durable = /^durable (\d{1,15})$/.exec(value);
    if (durable !== null) this.#durable = Number(durable[1]);
    // A stream without events sends comments only: they must not count as the length of an event.
    if (this.#data.length === 0) this.#held = 0;
  }

  #end(): Frame | null {
    const hasData = this.#data.length > 0;
    const data = this.#data.join('\n');
    const frame = { name: this.#name === '' ? 'message' : this.#name, id: this.#id, data, durable: this.#durable };
    this.#name = '';
    this.#id = null;
    this.#data = [];
    this.#durable = null;
    return hasData ? frame : null;
  }
}
