// What screen readers are told while a team works: important events only, gathered for a moment so that they do not flood.
import { listed } from '../log';

export type News = 'hired' | 'reported' | 'failed' | 'cancelled' | 'ran_dry' | 'refused';

export const GATHER_MS = 1500;

const WORDS: Readonly<Record<News, string>> = {
  hired: 'Hired',
  reported: 'Reported',
  failed: 'Failed',
  cancelled: 'Cancelled',
  ran_dry: 'Ran dry',
  refused: 'Refused',
};

/** One short text for many events. */
export function gather(news: readonly { readonly what: News; readonly who: string }[]): string {
  const parts: string[] = [];
  for (const what of Object.keys(WORDS) as News[]) {
    const names = news.filter((item) => item.what === what).map((item) => item.who);
    if (names.length > 0) parts.push(`${WORDS[what]}: ${listed(names)}.`);
  }
  return parts.join(' ');
}
