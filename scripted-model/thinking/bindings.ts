// Thinking as one server signs and checks it: the account it plays, what it has signed, and which
// conversations it has seen.
import { RecentMap } from '../../system/recent-map.ts';
import type { CompactionFacts, CompactionRecord } from '../compaction/blocks.ts';
import { findProfile } from '../models/profiles.ts';
import type { AccountOptions, ParsedRequest } from '../script.ts';
import { checkThinking, type Account, type CheckedThinking } from './check-thinking.ts';
import { computePrefix, type Prefix } from './prefix.ts';
import { createSignatures, type Binding } from './signatures.ts';

/**
 * Signs one block of a reply; `chosen` is the script's own signature, `size` its cost in bytes.
 * Call it in the order of the blocks.
 */
export type Signer = (thinking: string, chosen?: string, size?: number) => string;

export type Bindings = {
  /** Tells whether the API made this signature for this text, and an unknown model may read it. */
  verify(model: string, thinking: string, signature: string): boolean;
  check(request: ParsedRequest, betas: readonly string[]): CheckedThinking;
  /** Makes a signer. `last` is the id of the block that the model saw last. */
  signer(request: ParsedRequest, last: string | null): Signer;
  /** Builds the record of a compaction of all of the request's messages. */
  compacted(request: ParsedRequest): Omit<CompactionRecord, 'id'>;
};

/** From this moment on, the checks of models that came out before apply to new accounts. */
const ENFORCED_FROM = Date.parse('2026-08-31T00:00:00Z');
const PLACES_REMEMBERED = 200_000;

/** Creates the bindings. Throws a RangeError for an invalid time. */
export function createBindings(options: AccountOptions = {}): Bindings {
  const account = readAccount(options);
  const signatures = createSignatures();
  const places = new RecentMap<string, string>(PLACES_REMEMBERED);
  const prefixes = new WeakMap<ParsedRequest, Prefix>();
  const prefix = (request: ParsedRequest): Prefix => {
    const found = prefixes.get(request) ?? computePrefix(request, (digest, before) => places.set(digest, before));
    prefixes.set(request, found);
    return found;
  };
  return {
    verify: (model, thinking, signature) => {
      const read = signatures.read(thinking, signature);
      return findProfile(model) === undefined ? read.some((block) => block.model === model) : read.length > 0;
    },
    check: (request, betas) =>
      checkThinking({
        request,
        betas,
        account,
        signatures,
        prefix: () => prefix(request),
        before: (digest) => places.get(digest),
      }),
    compacted: (request) => {
      const before = prefix(request);
      const { system, fixedTools, referred, compaction } = before;
      const { messages } = pickBinding(before);
      const preserves = hasPrefixCheck(request.model);
      const lastRole = request.messages.findLast(({ role }) => role !== 'system')?.role ?? 'user';
      const earlier = compaction === undefined ? [] : [pickFacts(compaction), ...compaction.earlier];
      return { system, fixedTools, referred, messages, preserves, lastRole, earlier };
    },
    signer: (request, last) => {
      let previous = last;
      const { model } = request;
      const records = hasPrefixCheck(model);
      return (thinking, chosen, size = 0) => {
        const before = records ? prefix(request) : undefined;
        const binding = before && { ...pickBinding(before), previous };
        const { signature, id } = signatures.sign(
          { model, account: account.id, size, binding: binding ?? null },
          thinking,
          chosen,
        );
        previous = id;
        return signature;
      };
    },
  };
}

function hasPrefixCheck(model: string): boolean {
  return (findProfile(model)?.prefixCheck ?? 'none') !== 'none';
}

function pickFacts({ id, preserves, system, fixedTools }: CompactionFacts): CompactionFacts {
  return { id, preserves, system, fixedTools };
}

function pickBinding(prefix: Prefix): Omit<Binding, 'previous'> {
  const { system, fixedTools, compaction, items, starts } = prefix;
  const tools = prefix.toolsBefore(starts.length - 1);
  return { system, tools, fixedTools, messages: prefix.digest(items.length), compaction: compaction?.id ?? null };
}

function readAccount({ created = 'new', id = 'org_scripted' }: AccountOptions): Account {
  if (created === 'new' || created === 'old') return { id, enforces: created === 'new' };
  const at = Date.parse(created);
  if (Number.isNaN(at))
    throw new RangeError(`account.created is "new", "old" or a time in ISO 8601, and not ${created}`);
  return { id, enforces: at >= ENFORCED_FROM };
}
