// Checks thinking that comes back: who may read it, and whether it is preceded by what preceded it
// when it was made. Thinking that the model may not read is dropped without a word; a changed
// prefix is refused, dropped or only noted, by model, account and request.
import { canReadThinking, findProfile, type ModelProfile } from '../models/profiles.ts';
import { toBlocks } from '../read-request.ts';
import type { ParsedRequest } from '../script.ts';
import { isObject, type Json } from '../validate/shape.ts';
import { isTurnScoped } from '../validate/system-messages.ts';
import { BETAS } from '../validate/betas.ts';
import { EMPTY_PREFIX, type Prefix } from './prefix.ts';
import type { Binding, ReadBlock, Signatures } from './signatures.ts';

export type Account = {
  readonly id: string;
  /** The account was made when the prefix check was already enforced for new accounts. */
  readonly enforces: boolean;
};

type Reason = 'organization_binding_mismatch' | 'model_binding_mismatch' | 'prefix_binding_mismatch';

export type Transformation = {
  readonly type: 'thinking_dropped' | 'thinking_mismatch_allowed';
  readonly path: string;
  readonly reason: Reason;
};

export type CheckedThinking = {
  /** The sentence that the request is refused with. */
  readonly problem: string | undefined;
  readonly transformations: readonly Transformation[];
  /** The block that the model saw last, for the next one to refer to. */
  readonly last: string | null;
};

type CheckWork = {
  readonly request: ParsedRequest;
  readonly betas: readonly string[];
  readonly account: Account;
  readonly signatures: Signatures;
  readonly prefix: () => Prefix;
  /** Returns the digest before this one in its conversation; undefined once forgotten. */
  readonly before: (digest: string) => string | undefined;
};

type Outcome = 'error' | 'drop' | 'allow' | 'not_run';

/**
 * The blocks that a signature may stand for: one, or several where a script chose the same text for
 * several; empty when nothing is known.
 */
type KnownBlocks = readonly ReadBlock[];

type FoundThinking = {
  readonly path: string;
  readonly message: number;
  readonly type: string;
  readonly read: KnownBlocks;
};

export function checkThinking(check: CheckWork): CheckedThinking {
  const { request, account, signatures } = check;
  const profile = findProfile(request.model);
  const found = findThinking(request, signatures);
  if (profile === undefined) return toChecked([], found.at(-1)?.read);
  const outcome = chooseOutcome(profile, request, account);
  const transformations: Transformation[] = [];
  const failed = new Set<string>();
  let last: KnownBlocks | undefined;
  for (const [at, block] of found.entries()) {
    const { path, read } = block;
    const reason = describeUnreadable(read, profile, account);
    if (reason !== undefined) transformations.push({ type: 'thinking_dropped', path, reason });
    const why =
      reason === undefined
        ? describeMismatch(check, outcome, { block, before: found[at - 1], last, failed })
        : undefined;
    if (why !== undefined && outcome === 'error')
      return { ...toChecked([], last), problem: describeRefusal(check, block, why) };
    if (why !== undefined) {
      const type = outcome === 'allow' ? 'thinking_mismatch_allowed' : 'thinking_dropped';
      transformations.push({ type, path, reason: 'prefix_binding_mismatch' });
    }
    if (why === undefined || outcome === 'allow') last = read;
    else for (const { id } of read) failed.add(id);
  }
  return toChecked(transformations, last);
}

function toChecked(transformations: readonly Transformation[], last: KnownBlocks | undefined): CheckedThinking {
  return { problem: undefined, transformations, last: last?.at(-1)?.id ?? null };
}

/** Builds the request as it is counted: without dropped parts and ended system messages. */
export function buildShownRequest(request: ParsedRequest, transformations: readonly Transformation[]): ParsedRequest {
  const dropped = new Set(transformations.flatMap(({ type, path }) => (type === 'thinking_dropped' ? [path] : [])));
  const lastUser = request.messages.findLastIndex(({ role }) => role === 'user');
  const cleared = request.messages.some((message, index) => index < lastUser && isTurnScoped(message));
  if (dropped.size === 0 && !cleared) return request;
  const messages = request.messages.flatMap((message, index) => {
    if (index < lastUser && isTurnScoped(message)) return [];
    if (!Array.isArray(message.content)) return [message];
    const content = message.content.filter((_block, at) => !dropped.has(`messages.${index}.content.${at}`));
    return [{ ...message, content } as typeof message];
  });
  return { ...request, messages };
}

function findThinking(request: ParsedRequest, signatures: Signatures): readonly FoundThinking[] {
  return request.messages.flatMap(({ content }, message): FoundThinking[] => {
    return toBlocks(content).flatMap((block, at): FoundThinking[] => {
      const path = `messages.${message}.content.${at}`;
      const { type } = block;
      if (type === 'thinking') return [{ path, message, type, read: signatures.read(block.thinking, block.signature) }];
      return type === 'redacted_thinking'
        ? [{ path, message, type, read: signatures.read(block.data, block.data) }]
        : [];
    });
  });
}

function chooseOutcome(profile: ModelProfile, request: ParsedRequest, account: Account): Outcome {
  if (profile.prefixCheck === 'none') return 'not_run';
  const thinking = request.thinking as Json | undefined;
  const binding = thinking?.['block_binding'];
  const behavior = isObject(binding) ? binding['prefix_mismatch_behavior'] : undefined;
  if (behavior === 'drop_block') return 'drop';
  const enforced = behavior === 'error' || profile.prefixCheck === 'every_account' || account.enforces;
  return enforced ? 'error' : 'allow';
}

/** Says why a block cannot be read; of several possible makers one that can is enough. */
function describeUnreadable(read: KnownBlocks, profile: ModelProfile, account: Account): Reason | undefined {
  if (read.length === 0) return undefined;
  const own = read.filter(
    ({ model, account: maker }) => maker === account.id || findProfile(model)?.accountBound !== true,
  );
  if (own.length === 0) return 'organization_binding_mismatch';
  return own.some((block) => canReadThinking(profile.id, block.model)) ? undefined : 'model_binding_mismatch';
}

type BlockInTurn = {
  readonly block: FoundThinking;
  readonly before: FoundThinking | undefined;
  readonly last: KnownBlocks | undefined;
  readonly failed: ReadonlySet<string>;
};

/**
 * Describes the difference from when the block was made, '' when words for it are missing;
 * undefined: nothing differs. `last` is the block kept before it.
 */
function describeMismatch(
  check: CheckWork,
  outcome: Outcome,
  { block, before, last, failed }: BlockInTurn,
): string | undefined {
  if (outcome === 'not_run' || block.read.length === 0) return undefined;
  if (isDroppedWith(block, before, failed)) return '';
  const differences = block.read.map(({ binding }) =>
    binding === null ? undefined : describeDifference(check, block, binding, last),
  );
  return differences.includes(undefined) ? undefined : differences[0];
}

/**
 * Tells whether a block goes with a dropped one: what was made after it, and the rest of its turn's
 * thinking that directly follows.
 */
function isDroppedWith(
  { read, path }: FoundThinking,
  before: FoundThinking | undefined,
  failed: ReadonlySet<string>,
): boolean {
  if (read.every(({ binding }) => binding?.previous !== undefined && failed.has(binding.previous ?? ''))) return true;
  const [, message, at] = /^(.*)\.(\d+)$/.exec(before?.path ?? '') ?? [];
  return path === `${message}.${Number(at) + 1}` && before?.read.some(({ id }) => failed.has(id)) === true;
}

function describeDifference(
  check: CheckWork,
  block: FoundThinking,
  binding: Binding,
  last: KnownBlocks | undefined,
): string | undefined {
  const { system, tools, messages, previous } = binding;
  const prefix = check.prefix();
  if (last !== undefined && last.length > 0 && !last.some(({ id }) => id === previous)) return '';
  if (system !== prefix.system) return ' The `system` prompt differs from when the block was created.';
  if (tools !== prefix.toolsBefore(block.message)) return ' The `tools` list differs from when the block was created.';
  if (!hasSurvived(binding, prefix)) return '';
  if (isInPlace(check.request, prefix, block, messages)) return undefined;
  return ` Content before this block differs from when it was created${describeFirstChange(check, block, messages)}.`;
}

/** Tells whether a model with the check made every compaction since, with the same preamble. */
function hasSurvived(binding: Binding, { compaction }: Prefix): boolean {
  const since = compaction === undefined ? [] : [compaction, ...compaction.earlier];
  const at = since.findIndex(({ id }) => id === binding.compaction);
  if (at < 0 && binding.compaction !== null) return false;
  return since
    .slice(0, at < 0 ? since.length : at)
    .every(
      ({ preserves, system, fixedTools }) =>
        preserves && system === binding.system && fixedTools === binding.fixedTools,
    );
}

/**
 * Tells whether a block stands in its place. Replies that follow one another are one turn: a block
 * made in it may stand anywhere after the turn's beginning.
 */
function isInPlace(request: ParsedRequest, prefix: Prefix, { message }: FoundThinking, digest: string): boolean {
  let first = message;
  while (request.messages[first - 1]?.role === 'assistant') first -= 1;
  const [from = 0, to = 0] = [prefix.starts[first], prefix.starts[message + 1]];
  for (let count = from; count <= to; count += 1) if (prefix.digest(count) === digest) return true;
  return false;
}

function describeFirstChange({ prefix, before }: CheckWork, { message }: FoundThinking, digest: string): string {
  const digests: string[] = [];
  for (let at: string | undefined = digest; at !== EMPTY_PREFIX; at = before(at)) {
    if (at === undefined) return '';
    digests.push(at);
  }
  digests.push(EMPTY_PREFIX);
  digests.reverse();
  const now = prefix();
  const most = now.starts[message] ?? 0;
  let count = 0;
  while (count < most && digests[count + 1] === now.digest(count + 1)) count += 1;
  return `, first at \`${count < most ? now.items[count]?.path : `messages.${message}`}\``;
}

function describeRefusal({ betas }: CheckWork, { path, type }: FoundThinking, why: string): string {
  const field = type === 'thinking' ? 'signature' : 'data';
  const header = betas.includes(BETAS.bindingControls)
    ? ''
    : ` That setting requires the \`${BETAS.bindingControls}\` value in the \`anthropic-beta\` header.`;
  return `${path}: Invalid \`${field}\` in \`${type}\` block. The block is bound to a different conversation. Remove the block, or set \`thinking.block_binding.prefix_mismatch_behavior\` to "drop_block".${header}${why}`;
}
