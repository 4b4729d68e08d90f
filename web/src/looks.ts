// How a contract looks: its condition, or that it arrives. Lists and labels have the same icons.
import type { Condition } from './stage';

/** `arrives` is a contract whose portal is still open. */
export type Look = Condition | 'arrives';

/** Icons in a box of 12 by 12. */
export const LOOK_PATHS: Readonly<Record<Look, string>> = {
  works: 'M6 2.4A3.6 3.6 0 1 1 5.99 2.4Z',
  waits: 'M2.5 1.5H9.5L6.6 6 9.5 10.5H2.5L5.4 6Z',
  arrives: 'M6 1a5 5 0 1 0 .01 0ZM6 3.4a2.6 2.6 0 1 1-.01 0Z',
  done: 'M1.2 6.4 2.8 4.8 4.9 6.9 9.4 2.2 11 3.8 4.9 10.1Z',
  ran_dry: 'M6 1.2 9.2 6.4A3.7 3.7 0 1 1 2.8 6.4ZM6 4 4.4 6.9A1.9 1.9 0 1 0 7.6 6.9Z',
  failed: 'M2.6 1.2 6 4.6 9.4 1.2 10.8 2.6 7.4 6 10.8 9.4 9.4 10.8 6 7.4 2.6 10.8 1.2 9.4 4.6 6 1.2 2.6Z',
  cancelled: 'M1.5 5H10.5V7H1.5Z',
  refused: 'M6 .9A5.1 5.1 0 1 0 11.1 6H9A3 3 0 1 1 6 3ZM7.4 1.1 6.9 3.6 8.6 5 11 4.6Z',
};
