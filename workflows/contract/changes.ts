// The changes that a session's history holds, as Temporal's SDK lists them by itself: one id for
// each that was made behind `patched`.

/**
 * Temporal's own search attribute. It costs a session nothing, except where it meets a change for
 * the first time.
 */
export const CHANGES_ATTRIBUTE = 'TemporalChangeVersion';

/** The changes that this release knows: it cannot replay a session that has another. */
export const CHANGES: readonly string[] = [
  'perdure-agent-ended',
  'perdure-agent-host',
  'perdure-agent-lost',
  'perdure-agent-pauses',
  'perdure-alerts',
  'perdure-answer-recoveries',
  'perdure-bad-options',
  'perdure-budget-spent',
  'perdure-close-preparations',
  'perdure-cut-room',
  'perdure-facts',
  'perdure-failed-bound',
  'perdure-firing-due',
  'perdure-found-before-move',
  'perdure-goals',
  'perdure-late-cancel',
  'perdure-late-not-taken',
  'perdure-left-out',
  'perdure-long-prompt',
  'perdure-lost-grants',
  'perdure-no-prompt',
  'perdure-not-gone',
  'perdure-plain-interrupt',
  'perdure-preparation-terms',
  'perdure-prepared-compaction',
  'perdure-recount',
  'perdure-same-results',
  'perdure-sandbox-interrupt',
  'perdure-session-budget',
  'perdure-summary-budget',
  'perdure-text-calls',
  'perdure-uncounted-context',
  'perdure-waits',
  'perdure-webhooks',
  'perdure-whole-prompt',
  'perdure-work-looks',
];

/** Returns the ids of a later release's changes. `ids`: the attribute's value. */
export function unknownChanges(ids: unknown): readonly string[] {
  if (!Array.isArray(ids)) return [];
  return ids.map(String).filter((id) => id.startsWith('perdure-') && !CHANGES.includes(id));
}
