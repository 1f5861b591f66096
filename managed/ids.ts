// Ids and timestamps of the API. Ids become file names, so they are lower case (G9). An event's id
// is derived from its source, so every reading of a transcript yields the same one (G33).
import { createHash } from 'node:crypto';
import { RANDOM_NAME_LENGTH, randomName } from '../system/random-name.ts';

export type Prefix =
  | 'agent'
  | 'env'
  | 'sesn'
  | 'sevt'
  | 'sthr'
  | 'work'
  | 'memstore'
  | 'mem'
  | 'memver'
  | 'file'
  | 'skill'
  | 'skillver'
  | 'sesrsc'
  | 'depl'
  | 'drun'
  | 'vlt'
  | 'vcrd'
  | 'req';

/** Makes a new random id. */
export const newId = (prefix: Prefix): string => `${prefix}_${randomName()}`;

const FORMS: Readonly<Record<Prefix, RegExp>> = {
  agent: /^agent_[0-9a-z]{26}$/,
  env: /^env_(?:default|[0-9a-z]{26})$/,
  sesn: /^sesn_[0-9a-z]{26}$/,
  sevt: /^sevt_[0-9a-z]{26}$/,
  sthr: /^sthr_[0-9a-z]{26}$/,
  work: /^work_[0-9a-z]{26}$/,
  memstore: /^memstore_[0-9a-z]{26}$/,
  mem: /^mem_[0-9a-z]{26}$/,
  memver: /^memver_[0-9a-z]{26}$/,
  file: /^file_[0-9a-z]{26}$/,
  skill: /^skill_[0-9a-z]{26}$/,
  skillver: /^skillver_[0-9a-z]{26}$/,
  sesrsc: /^sesrsc_[0-9a-z]{26}$/,
  depl: /^depl_[0-9a-z]{26}$/,
  drun: /^drun_[0-9a-z]{26}$/,
  vlt: /^vlt_[0-9a-z]{26}$/,
  vcrd: /^vcrd_[0-9a-z]{26}$/,
  req: /^req_[0-9a-z]{26}$/,
};

export const isId = (prefix: Prefix, text: string): boolean => FORMS[prefix].test(text);

/** Returns the id of the event that these parts name: equal parts give an equal id. */
export const eventId = (...parts: readonly (string | number)[]): string => `sevt_${nameOf(parts)}`;

/** Returns the id of the thread that is the session, or that an agent's session is. */
export const threadId = (session: string): string => `sthr_${nameOf([session, 'thread'])}`;

/** Returns the id of the outcome that an event defines. */
export const outcomeId = (event: string): string => `outc_${nameOf([event, 'outcome'])}`;

/** Returns the id of a file that these parts name. */
export const fileId = (...parts: readonly (string | number)[]): string => `file_${nameOf(['file', ...parts])}`;

/** Returns the id of the resource of a session that a file is, and the file of a resource. */
export const resourceOfFile = (file: string): string => file.replace(/^file_/, 'sesrsc_');
export const fileOfResource = (resource: string): string => resource.replace(/^sesrsc_/, 'file_');

/** Returns the id of the run that is a deployment's firing at a moment. */
export const firingId = (deployment: string, at: number): string => `drun_${nameOf([deployment, at])}`;
/** Returns the id of the session that a run creates. */
export const sessionOfRun = (run: string): string => run.replace(/^drun_/, 'sesn_');

function nameOf(parts: readonly (string | number)[]): string {
  const digest = createHash('sha256').update(JSON.stringify(parts)).digest('hex');
  const bits = BigInt(`0x${digest.slice(0, 34)}`) >> 2n;
  return bits.toString(36).padStart(RANDOM_NAME_LENGTH, '0');
}

/** RFC 3339 in UTC, from milliseconds since the epoch. */
export const formatTime = (ms: number): string => new Date(ms).toISOString();

/** RFC 3339 in UTC with six digits, from microseconds since the epoch (G10). */
export function formatMicros(micros: number): string {
  const rest = String(micros % 1000).padStart(3, '0');
  return formatTime(Math.floor(micros / 1000)).replace('Z', `${rest}Z`);
}
