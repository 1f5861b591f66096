// The kinds of entries and of notices that this version knows. The hash vouches for what is stored,
// so an unknown kind comes from a newer version: leaving it out of a request would change what the
// model is told.
import type { Notice } from '../../workflows/contract/activities.ts';
import type { Entry } from './entries.ts';

const ENTRY_KINDS: Readonly<Record<Entry['kind'], true>> = {
  run_started: true,
  user: true,
  reply: true,
  outcomes: true,
  boundary: true,
  microcompact: true,
  collapse_staged: true,
  collapse_committed: true,
  snip: true,
  steered: true,
  epoch: true,
  files: true,
  notice: true,
  transition: true,
  run_ended: true,
  session_closed: true,
};

const NOTICE_KINDS: Readonly<Record<Notice['kind'], true>> = {
  interrupted: true,
  continue: true,
  call_cut: true,
  max_turns_reached: true,
  wrap_up: true,
  budget_spent: true,
  error: true,
  model_switched: true,
  stop_hook: true,
  token_budget: true,
  structured_output: true,
  call_as_text: true,
  same_results: true,
  hook_context: true,
  files_changed: true,
  attachment: true,
  batch_summary: true,
  about_model: true,
  about_skills: true,
  about_tools: true,
  compaction_failed: true,
  repaired: true,
  hook_failed: true,
  preamble_changed: true,
  forked: true,
};

/** Returns the first unknown kind in words, for a sentence; undefined when all are known. */
export function findUnknownKind(entries: readonly unknown[]): string | undefined {
  for (const entry of entries) {
    const kind = kindOf(entry);
    if (kind !== undefined && !Object.hasOwn(ENTRY_KINDS, kind)) return `an entry of kind ${JSON.stringify(kind)}`;
    const notice = kind === 'notice' ? kindOf((entry as { readonly notice?: unknown }).notice) : undefined;
    if (notice !== undefined && !Object.hasOwn(NOTICE_KINDS, notice))
      return `a notice of kind ${JSON.stringify(notice)}`;
  }
  return undefined;
}

/** Returns undefined for a value without a kind, which is not an entry of any version. */
export function kindOf(value: unknown): string | undefined {
  const kind = (value as { readonly kind?: unknown } | null | undefined)?.kind;
  return typeof kind === 'string' ? kind : undefined;
}
