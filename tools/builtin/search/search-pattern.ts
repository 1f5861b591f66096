// Interprets a model's pattern for files, in glob and grep alike: relative to where the search
// begins, and for a folder all that lies in it.
import { stat } from 'node:fs/promises';
import { isAbsolute, join, relative } from 'node:path';
import { isInside } from '../../../system/process/places.ts';
import { ToolFailure } from '../../failures.ts';
import { quotePath } from '../files/fs-failures.ts';
import { refuseCostly } from './braces.ts';
import type { SearchPlace } from './search-place.ts';

/**
 * Takes an absolute pattern apart; refuses one that climbs, because nothing it could match is below
 * the place. Throws ToolFailure.
 */
export async function resolvePattern(place: Pick<SearchPlace, 'root' | 'name'>, pattern: string): Promise<string> {
  const { root, name } = place;
  const base = name === '' ? root : `${root}/${name}`;
  if (isAbsolute(pattern) && !isInside(base, pattern)) {
    throw new ToolFailure(`${quotePath(pattern)} matches nothing below ${base}: use a pattern relative to it.`);
  }
  const wanted = isAbsolute(pattern) ? relative(base, pattern) : pattern;
  const segments = wanted.split('/').filter((segment) => segment !== '' && segment !== '.');
  if (segments.includes('..')) throw new ToolFailure('A pattern cannot hold "..": set path to another folder.');
  const meant = segments.join('/');
  if (meant === '') return '**';
  const isFolder = pattern.endsWith('/') || (await namesFolder(place, meant));
  const whole = isFolder ? `${meant}/**` : meant;
  refuseCostly(whole);
  return whole;
}

/**
 * Tells whether a text is the path of a folder below the place, also where it looks like a pattern.
 */
export async function namesFolder({ root, name }: Pick<SearchPlace, 'root' | 'name'>, text: string): Promise<boolean> {
  try {
    return (await stat(join(root, name, text))).isDirectory();
  } catch {
    // It is a pattern, or names something that cannot be looked at.
    return false;
  }
}
