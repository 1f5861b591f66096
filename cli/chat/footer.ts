// The row that stays below what is typed: model, folder, turns, cost, context, mode. Pure.
import { displayWidth } from '../../client/render/width.ts';
import { oneLine } from '../../client/paint.ts';
import { formatMoney, formatTokens } from '../../client/units.ts';
import type { PermissionMode } from '../../workflows/contract/session.ts';

export type FooterFacts = {
  readonly model: string | null;
  readonly folder: string;
  readonly branch: string | null;
  readonly turns: number | null;
  readonly tokens: number | null;
  /** US dollars; null when a price is not known. */
  readonly usd: number | null;
  /** Share of the window that is used, from 0 to 1; null when unknown. */
  readonly context: number | null;
  readonly mode: PermissionMode;
  /** The mode counts from the next run on, since the one under way has another. */
  readonly isModeNext: boolean;
  readonly running: boolean;
};

/** Parts are left out from the least important one on, until the rest fits. */
export function footerText(facts: FooterFacts, columns: number): string {
  const { model, folder, branch, turns, tokens, usd, context, mode, isModeNext, running } = facts;
  const parts: readonly (readonly [rank: number, text: string | null])[] = [
    [3, model === null ? null : oneLine(model.replace(/^claude-/, ''), 30)],
    [4, `${oneLine(folder, 30)}${branch === null ? '' : ` (${oneLine(branch, 30)})`}`],
    [6, turns === null ? null : `turn ${turns}`],
    [7, tokens === null || tokens === 0 ? null : formatTokens(tokens)],
    [1, usd === null && turns === null ? null : formatMoney(usd)],
    [2, context === null ? null : `ctx ${drawBar(context)} ${Math.round(context * 100)}%`],
    [0, `${mode}${isModeNext ? ' from the next run' : ''}`],
    [5, '(⇧Tab)'],
    [8, running ? 'Esc stops' : '/help'],
  ];
  const there = parts.flatMap(([rank, text]) => (text === null ? [] : [{ rank, text }]));
  for (let most = 8; most >= 0; most -= 1) {
    const visible = there.filter(({ rank }) => rank <= most);
    const text = ` ${visible.map((part) => part.text).join(' · ')}`.replace(' · (⇧Tab)', ' (⇧Tab)');
    if (displayWidth(text) < columns) return text;
  }
  return '';
}

const BAR = 6;

function drawBar(share: number): string {
  const full = Math.max(0, Math.min(BAR, Math.round(share * BAR)));
  return '▓'.repeat(full) + '░'.repeat(BAR - full);
}
