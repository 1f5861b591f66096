// The frame around every page.
import { raw } from 'hono/html';
import type { Child } from 'hono/jsx';
import type { TerminalReason } from '../../workflows/contract/loop.ts';
import { reasonText } from '../render/words.ts';
import { phaseText, type SessionInfo } from '../sessions/info.ts';

type Props = { readonly title: string; readonly refreshSeconds?: number; readonly children: Child };

export function Layout({ title, refreshSeconds, children }: Props) {
  return (
    <>
      {raw('<!doctype html>')}
      <html lang="en">
        <head>
          <meta charset="utf-8" />
          <meta name="viewport" content="width=device-width, initial-scale=1" />
          {refreshSeconds === undefined ? null : <meta http-equiv="refresh" content={String(refreshSeconds)} />}
          <title>{`${title} · Perdure`}</title>
          <link rel="stylesheet" href="/style.css" />
        </head>
        <body>
          <main>{children}</main>
        </body>
      </html>
    </>
  );
}

// Small marks that say in a word and a colour how something stands.

const phases: Readonly<Record<string, string>> = {
  running: 'busy',
  waiting: 'warn',
  parked: 'warn',
  idle: 'good',
  closed: 'quiet',
};

export function Phase({ session }: { readonly session: SessionInfo }) {
  const text = phaseText(session);
  // What was ended by force has a word of its own.
  return <span class={`mark ${phases[text.split(' ', 1)[0] ?? ''] ?? 'bad'}`}>{text}</span>;
}

export function Reason({ reason }: { readonly reason: TerminalReason | null }) {
  if (reason === null) return <span class="quiet">–</span>;
  const kind = reason === 'completed' ? 'good' : reason.startsWith('aborted') ? 'warn' : 'bad';
  return <span class={`mark ${kind}`}>{reasonText(reason)}</span>;
}

// The page's one style sheet.

export const STYLE = `
:root { color-scheme: light dark; --quiet: #6b7280; --line: #e5e7eb; --panel: #f6f7f9; --good: #15803d; --warn: #a16207; --bad: #b91c1c; --busy: #1d4ed8; }
@media (prefers-color-scheme: dark) {
  :root { --quiet: #9ca3af; --line: #30343b; --panel: #1b1e23; --good: #4ade80; --warn: #facc15; --bad: #f87171; --busy: #60a5fa; }
}
* { box-sizing: border-box; }
body { margin: 0; font: 15px/1.5 system-ui, sans-serif; }
main { max-width: 64rem; margin: 0 auto; padding: 2rem 1.25rem 4rem; }
header { margin-bottom: 1.25rem; }
h1 { font-size: 1.4rem; line-height: 1.3; margin: 0; overflow-wrap: anywhere; }
h2 { font-size: 1rem; margin: 2rem 0 .75rem; }
p { margin: .35rem 0; }
a { color: inherit; }
small { display: block; color: var(--quiet); font-size: .8rem; overflow-wrap: anywhere; }
table { width: 100%; border-collapse: collapse; font-variant-numeric: tabular-nums; }
th { text-align: left; font-weight: 500; font-size: .8rem; color: var(--quiet); }
th, td { padding: .5rem .75rem .5rem 0; border-bottom: 1px solid var(--line); vertical-align: top; }
td { white-space: nowrap; }
td small { white-space: normal; }
td:has(a) { min-width: 14rem; white-space: normal; overflow-wrap: anywhere; }
.wide { overflow-x: auto; }
.quiet { color: var(--quiet); overflow-wrap: anywhere; }
.back { font-size: .85rem; }
.mark { white-space: nowrap; }
.mark::before { content: "●"; font-size: .7em; margin-right: .4em; vertical-align: .1em; }
.good { color: var(--good); } .warn { color: var(--warn); } .bad { color: var(--bad); } .busy { color: var(--busy); }
.problem { color: var(--bad); }
pre { font: inherit; white-space: pre-wrap; overflow-wrap: anywhere; margin: .6rem 0; }
.said.user { background: var(--panel); border-radius: .5rem; padding: .6rem .8rem; }
.call, .result { font: 13px/1.5 ui-monospace, monospace; overflow-wrap: anywhere; }
.call { margin: .6rem 0 0; }
.result { color: var(--quiet); border-left: 2px solid var(--line); padding-left: .7rem; margin: .2rem 0 .6rem; max-height: 14rem; overflow: auto; }
.result.bad { color: var(--bad); }
.line { color: var(--quiet); font-size: .8rem; margin: .6rem 0; }
.line.warn { color: var(--warn); }
`;
