// The kinds of entries and of notices that this version knows. The hash vouches for what is stored: one that is not among them comes
// from a newer version, and what is left out of a request because nobody knew it would change what the model is told.
import type { Notice } from '../../workflows/contract/activities.ts';
import type { Entry } from './entries.ts';

const entryKinds: Readonly<Record<Entry['kind'], true>> = {
  run_started: true,
  user: true,
  reply: true,
  outcomes: true,
  boundary: true,
  microcompact: true,
  collapse_staged: true,
  collapse_committed: true,
  snip: true,
  notice: true,
  transition: true,
  run_ended: true,
  session_closed: true,
};

const noticeKinds: Readonly<Record<Notice['kind'], true>> = {
  interrupted: true,
  continue: true,
  call_cut: true,
  max_turns_reached: true,
  wrap_up: true,
  error: true,
  model_switched: true,
  stop_hook: true,
  token_budget: true,
  structured_output: true,
  hook_context: true,
  files_changed: true,
  attachment: true,
  batch_summary: true,
  compaction_failed: true,
  repaired: true,
  hook_failed: true,
};

/** The first of them in words, for a sentence; undefined when all are known. */
export function unknownKind(entries: readonly unknown[]): string | undefined {
  for (const entry of entries) {
    const kind = kindOf(entry);
    if (kind !== undefined && !Object.hasOwn(entryKinds, kind)) return `an entry of kind ${JSON.stringify(kind)}`;
    const notice = kind === 'notice' ? kindOf((entry as { readonly notice?: unknown }).notice) : undefined;
    if (notice !== undefined && !Object.hasOwn(noticeKinds, notice))
      return `a notice of kind ${JSON.stringify(notice)}`;
  }
  return undefined;
}

/** Undefined for what has none: then it is no entry of any version. */
export function kindOf(value: unknown): string | undefined {
  const kind = (value as { readonly kind?: unknown } | null | undefined)?.kind;
  return typeof kind === 'string' ? kind : undefined;
}
