// Parts of the configuration's schema, each with the words for what would be right.
import { isIP } from 'node:net';
import { isAbsolute, resolve } from 'node:path';
import { z } from 'zod';
import { MOST_NOTES } from '../../activities/memory/notes.ts';
import type { WebhookEndpoint } from '../../activities/deps.ts';
import { modelProblem } from '../../models/find-model.ts';
import { KEY_AGENTS, type KeyAgent, type WebSettings } from '../../tools/builtin/files/options.ts';
import { findRepeated } from '../../workflows/contract/list-problems.ts';
import { HOST_PATTERN } from '../../workflows/contract/permission-rules.ts';
import { WEBHOOK_TYPES } from '../../workflows/contract/webhooks.ts';

export const nameSchema = textSchema(200);

/** The name of a model. The worker finds out what the server makes of it when a run opens. */
export const modelSchema = nameSchema.superRefine((model, context) => {
  const message = modelProblem({ model });
  if (message !== undefined) context.addIssue({ code: 'custom', message });
});

/** Makes the schema of a text that is not empty and has at most `most` characters. */
export function textSchema(most: number) {
  const right = `give a text of 1 to ${most} characters`;
  return z.string(right).trim().min(1, right).max(most, right);
}

/** Makes the schema of a whole number up to `most`, in the unit `of`. */
export function wholeNumberSchema(most: number, of?: string) {
  const right = `give a whole number${of === undefined ? '' : ` of ${of}`} from 1 to ${most}`;
  return z.int(right).min(1, right).max(most, right);
}

const notesRight = `give a whole number of notes from 2 to ${MOST_NOTES}`;
export const notesSchema = z.int(notesRight).min(2, notesRight).max(MOST_NOTES, notesRight);

const sameRight = 'give a whole number of replies from 2 to 1000000, or false';
export const sameResultsSchema = z.union(
  [z.literal(false), z.int(sameRight).min(2, sameRight).max(1_000_000, sameRight)],
  sameRight,
);

/** Makes the schema of a time in milliseconds, up to `minutes`. */
export const millisecondsSchema = (minutes: number) => wholeNumberSchema(minutes * 60_000, 'milliseconds');

const shareRight = 'give a number above 0 and up to 1';
export const shareSchema = z.number(shareRight).gt(0, shareRight).max(1, shareRight);

const dollarsRight = 'give a number of US dollars from 0 to 1000000';
export const dollarsSchema = z.number(dollarsRight).min(0, dollarsRight).max(1_000_000, dollarsRight);

export const functionSchema = z.custom<(...args: never[]) => unknown>(
  (value) => typeof value === 'function',
  'give a function',
);

/** Makes the schema of a list whose items have different names. */
export function listOfDifferentNames<Item extends z.ZodType<{ readonly name: string }>>(item: Item) {
  return z.array(item).superRefine((items, context) => {
    const twice = findRepeated(items.map(({ name }) => name));
    if (twice === undefined) return;
    context.addIssue({ code: 'custom', message: `${JSON.stringify(twice)} is in it twice: give each its own name` });
  });
}

const hostRight =
  'give a host without scheme, port or path, such as docs.internal.example, *.corp.example or 127.0.0.1';

const folderRight = 'give the absolute path of a folder, and not the root';

export const skillsSchema = z
  .array(z.string(folderRight).refine((path) => isAbsolute(path) && resolve(path) !== '/', folderRight))
  .max(20);

export const missingCredentialsSchema = z.enum(['tell', 'end'], 'give "tell" or "end"');

const rangeRight = 'give a range of addresses with its prefix, such as 198.18.0.0/15 or fc00::/18';

function isRange(range: string): boolean {
  const [, network = '', prefix = ''] = /^([\da-f.:]+)\/(\d{1,3})$/i.exec(range) ?? [];
  const most = { 0: 0, 4: 32, 6: 128 }[isIP(network)] ?? 0;
  return Number(prefix) > 0 && Number(prefix) <= most;
}

export const webFetchSchema = z.strictObject({
  missingCredentials: missingCredentialsSchema.optional(),
  fakeIpRanges: z.array(z.string(rangeRight).refine(isRange, rangeRight)).max(20).optional(),
  privateHosts: z.array(z.string(hostRight).max(253, hostRight).regex(HOST_PATTERN, hostRight)).max(100).optional(),
} satisfies Readonly<Record<keyof WebSettings, unknown>>);

export type SandboxConfig = {
  readonly agents?: readonly KeyAgent[];
  readonly sockets?: readonly string[];
  /** Lets commands run where bubblewrap does not work; they are refused otherwise. */
  readonly unconfined?: boolean;
};

// Words that do not begin with "give" are told without the value, which is secret.
const endpointRight = 'it is an address that begins with https:// or http://, without user, password or fragment';
const secretRight = 'it begins with whsec_, and 24 to 64 bytes follow as base64';

function isEndpoint(address: string): boolean {
  if (!URL.canParse(address)) return false;
  const { protocol, username, password, hash } = new URL(address);
  return /^https?:$/.test(protocol) && username + password + hash === '';
}

const endpointSchema = z.strictObject({
  url: z.string(endpointRight).max(2_000, endpointRight).refine(isEndpoint, endpointRight),
  secret: z.string(secretRight).regex(/^whsec_[A-Za-z0-9+/]{32,86}={0,2}$/, secretRight),
  events: z.array(z.enum(WEBHOOK_TYPES)).min(1),
} satisfies Readonly<Record<keyof WebhookEndpoint, unknown>>);

const MOST_ENDPOINTS = 20;

export const webhooksSchema = z
  .array(endpointSchema)
  .max(MOST_ENDPOINTS)
  .superRefine((endpoints, context) => {
    const twice = findRepeated(endpoints.map(({ url }) => url));
    if (twice !== undefined) context.addIssue({ code: 'custom', message: 'an address is in it twice' });
  });

const socketRight = 'give the absolute path of a socket, such as /var/run/docker.sock';

export const sandboxSchema = z.strictObject({
  agents: z.array(z.enum(KEY_AGENTS, 'give "ssh" or "gpg"')).max(KEY_AGENTS.length).optional(),
  sockets: z
    .array(z.string(socketRight).refine((path) => isAbsolute(path) && resolve(path) !== '/', socketRight))
    .max(20)
    .optional(),
  unconfined: z.boolean('give true or false').optional(),
} satisfies Readonly<Record<keyof SandboxConfig, unknown>>);
