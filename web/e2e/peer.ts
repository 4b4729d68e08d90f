// A server of the page and of sessions that a test wrote, in a process of its own. It speaks the protocol of the real server: offers,
// sessions, events, texts, transcripts, the ledger. The test sends sessions and events over the channel of the process.
// This file imports only Node's own modules, because it is run alone.
import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { extname, join } from 'node:path';

/** One event of a stream: its id, and its bytes. An event without an id is sent to everyone who connects. */
export interface Frame {
  readonly id: string | null;
  readonly text: string;
  /** What is sent instead, the first time. */
  readonly firstText?: string;
}

/** A session as the peer keeps it. Replies are what the page gets, word for word. */
export interface PeerSession {
  readonly id: string;
  readonly view: object;
  readonly ledger: object;
  readonly frames: readonly Frame[];
  /** Whole texts, by hash. */
  readonly texts: Readonly<Record<string, string>>;
  /** Transcripts by path. A path that is missing has an empty one. */
  readonly transcripts: Readonly<Record<string, string>>;
  /** What changes are replied to with, by the name of their route. */
  readonly replies?: Readonly<Record<string, object>>;
  /** What every other change is refused with. */
  readonly refusal?: { readonly status: number; readonly code: string; readonly detail: string };
}

export type ToPeer =
  | { readonly kind: 'offers'; readonly offers: readonly object[] }
  | { readonly kind: 'session'; readonly session: PeerSession }
  | { readonly kind: 'event'; readonly session: string; readonly frame: Frame };

export type FromPeer = { readonly kind: 'ready'; readonly port: number } | { readonly kind: 'done' };

/** The policy of the real server, which a test compares. */
export const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const TYPES: Readonly<Record<string, string>> = { '.html': 'text/html; charset=utf-8', '.js': 'text/javascript', '.css': 'text/css', '.svg': 'image/svg+xml', '.woff2': 'font/woff2' };

interface Kept {
  readonly session: PeerSession;
  readonly frames: Frame[];
  readonly streams: Set<ServerResponse>;
  readonly sent: Set<Frame>;
}

const sessions = new Map<string, Kept>();
let offers: readonly object[] = [];

function json(reply: ServerResponse, body: unknown, status = 200): void {
  reply.writeHead(status, { 'content-type': 'application/json' });
  reply.end(JSON.stringify(body));
}

function refuse(reply: ServerResponse, status: number, code: string, detail: string): void {
  json(reply, { type: 'about:blank', title: code, status, code, detail }, status);
}

function write(kept: Kept, reply: ServerResponse, frame: Frame): void {
  const isFirst = frame.firstText !== undefined && !kept.sent.has(frame);
  kept.sent.add(frame);
  reply.write(isFirst ? frame.firstText : frame.text);
}

function stream(kept: Kept, request: IncomingMessage, reply: ServerResponse): void {
  reply.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' });
  reply.write('retry: 1000\n\n');
  const last = request.headers['last-event-id'];
  const known = kept.frames.findIndex((frame) => frame.id !== null && frame.id === last);
  kept.frames.forEach((frame, index) => {
    if (frame.id === null || index > known) write(kept, reply, frame);
  });
  kept.streams.add(reply);
  const alive = setInterval(() => reply.write(': alive\n\n'), 15_000);
  reply.on('close', () => {
    clearInterval(alive);
    kept.streams.delete(reply);
  });
}

function sessionReply(kept: Kept, rest: string, request: IncomingMessage, reply: ServerResponse): void {
  const { session } = kept;
  const [what, which] = rest.split('/', 2).map(decodeURIComponent);
  if (request.headers.authorization !== 'Bearer gh_peer') return refuse(reply, 401, 'unauthorized', 'The token is not valid.');
  if (request.method === 'DELETE') return refuse(reply, 404, 'not_found', 'There is no such viewer.');
  if (request.method === 'POST') {
    const known = session.replies?.[what ?? ''];
    if (known !== undefined) return json(reply, known);
    const { status, code, detail } = session.refusal ?? { status: 409, code: 'busy', detail: 'The team is at work.' };
    return refuse(reply, status, code, detail);
  }
  if (what === '') return json(reply, session.view);
  if (what === 'events') return stream(kept, request, reply);
  if (what === 'ledger') return json(reply, session.ledger);
  if (what === 'texts' && which !== undefined && session.texts[which] !== undefined) {
    reply.writeHead(200, { 'content-type': 'text/plain; charset=utf-8' });
    reply.end(session.texts[which]);
    return;
  }
  if (what === 'transcript' && which !== undefined) {
    reply.writeHead(200, { 'content-type': 'application/x-ndjson' });
    reply.end(session.transcripts[which] ?? '');
    return;
  }
  refuse(reply, 404, 'not_found', 'There is nothing at this address.');
}

function file(dist: string, path: string, reply: ServerResponse): void {
  const name = path === '/' ? 'index.html' : path.slice(1);
  if (!/^(index\.html|assets\/[\w.-]+)$/.test(name)) return refuse(reply, 404, 'not_found', 'There is nothing at this address.');
  try {
    const bytes = readFileSync(join(dist, name));
    reply.writeHead(200, { 'content-type': TYPES[extname(name)] ?? 'application/octet-stream', 'content-security-policy': POLICY });
    reply.end(bytes);
  } catch {
    refuse(reply, 404, 'not_found', `${name} is missing: run \`cargo xtask web\``);
  }
}

function respond(dist: string, request: IncomingMessage, reply: ServerResponse): void {
  const { pathname } = new URL(request.url ?? '/', 'http://peer');
  if (pathname === '/api/offers') return json(reply, offers);
  const found = /^\/api\/sessions\/([^/]+)\/?(.*)$/.exec(pathname);
  if (found === null) return file(dist, pathname, reply);
  const kept = sessions.get(decodeURIComponent(found[1] ?? ''));
  if (kept === undefined) return refuse(reply, 404, 'not_found', 'There is no such session.');
  sessionReply(kept, found[2] ?? '', request, reply);
}

function take(message: ToPeer): void {
  switch (message.kind) {
    case 'offers':
      offers = message.offers;
      return;
    case 'session':
      sessions.set(message.session.id, { session: message.session, frames: [...message.session.frames], streams: new Set(), sent: new Set() });
      return;
    case 'event': {
      const kept = sessions.get(message.session);
      kept?.frames.push(message.frame);
      for (const reply of kept?.streams ?? []) if (kept !== undefined) write(kept, reply, message.frame);
      return;
    }
  }
}

const dist = process.argv[2];
if (dist !== undefined && process.send !== undefined) {
  const tell = (message: FromPeer): void => void process.send?.(message);
  const server = createServer((request, reply) => respond(dist, request, reply));
  server.listen(0, '127.0.0.1', () => {
    const address = server.address();
    if (address !== null && typeof address === 'object') tell({ kind: 'ready', port: address.port });
  });
  process.on('message', (message) => {
    take(message as ToPeer);
    tell({ kind: 'done' });
  });
  // The peer ends with its test.
  process.on('disconnect', () => process.exit(0));
}
