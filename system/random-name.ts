// Random names that may be file names: file systems fold case, so they are of lower case.
import { randomInt } from 'node:crypto';

const ALPHABET = '0123456789abcdefghijklmnopqrstuvwxyz';

/** Characters of 36 that hold 134 bits. */
export const RANDOM_NAME_LENGTH = 26;

export const randomName = (): string =>
  Array.from({ length: RANDOM_NAME_LENGTH }, () => ALPHABET[randomInt(ALPHABET.length)]).join('');
