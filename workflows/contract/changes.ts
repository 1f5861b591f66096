// The changes that a session's history holds, as Temporal's SDK lists them by itself: one id for each
// that was made behind `patched`.

/**
 * Temporal's own search attribute: it costs a session nothing but where a change is met for the
 * first time.
 */
export const CHANGES_ATTRIBUTE = 'TemporalChangeVersion';

/** Those that this release knows: a session that has another cannot be replayed by it. */
export const CHANGES: readonly string[] = [
  'perdure-agent-ended',
  'perdure-agent-lost',
  'perdure-agent-pauses',
  'perdure-alerts',
  'perdure-answer-recoveries',
  'perdure-bad-options',
  'perdure-budget-spent',
  'perdure-close-preparations',
  'perdure-facts',
  'perdure-failed-bound',
  'perdure-firing-due',
  'perdure-late-cancel',
  'perdure-late-not-taken',
  'perdure-long-prompt',
  'perdure-lost-grants',
  'perdure-no-prompt',
  'perdure-not-gone',
  'perdure-plain-interrupt',
  'perdure-preparation-terms',
  'perdure-prepared-compaction',
  'perdure-summary-budget',
  'perdure-uncounted-context',
  'perdure-whole-prompt',
  'perdure-work-looks',
];

/** Of ids as they stand in the attribute, those of a release after this one. */
export function unknownChanges(ids: unknown): readonly string[] {
  if (!Array.isArray(ids)) return [];
  return ids.map(String).filter((id) => id.startsWith('perdure-') && !CHANGES.includes(id));
}
