// All that a worker makes of a view, in one value: two views that are as good as each other have
// the same.
import { createSeenFilesReader } from '../../store/view/seen-files.ts';
import { foundTools } from '../../store/transcript/found-tools.ts';
import { chooseKept } from '../../activities/compaction/choose-kept.ts';
import { measureScale } from '../../activities/compaction/scale.ts';
import { findOldStretches } from '../../activities/compaction/collapse.ts';
import type { RunConfig, RunModel } from '../../store/configuration.ts';
import { behindOf } from '../../store/view/behind.ts';
import type { Entry } from '../../store/log/entries.ts';
import { finalText } from '../../store/view/result.ts';
import { inView } from '../../store/view/in-view.ts';
import { planMicrocompact } from '../../store/view/microcompact.ts';
import { project } from '../../store/view/project.ts';
import { lastReply, type View } from '../../store/view/view.ts';
import { nextBoundary } from './any-transcript.ts';

const model = { name: 'claude-test', window: 20_000 } as RunModel;
const config = { rules: { fixedTokens: 5 } } as RunConfig;

/** `added`: what comes after it. */
export async function known(view: View, added: readonly Entry[]): Promise<unknown> {
  const entries = [...view.entries, ...added];
  const { shown, marks: seen } = inView(entries);
  const bodies = new Map();
  const scale = await measureScale({ bodies: async () => bodies }, entries, model, config);
  const { boundary: last, shrunkBefore, committed, staged } = seen;
  return {
    shown,
    marks: { last, shrunkBefore, committed, staged },
    sent: project(entries, bodies),
    kept: [20_000, 2_000, 200].flatMap((characters) =>
      (['auto', 'reactive'] as const).map((trigger) => chooseKept(entries, bodies, { characters, trigger })),
    ),
    stretches: [20_000, 2_000].map((window) => findOldStretches(entries, bodies, window, 4)),
    shrunk: planMicrocompact(entries, 1e12),
    tokens: [scale.charactersPerToken, scale.tokens(entries, bodies)],
    files: [...createSeenFilesReader()(view, added).values()],
    found: [...foundTools({ view, added })],
    final: [finalText(view), finalText(entries)],
    reply: lastReply(view),
    run: entries.findLast(({ kind }) => kind === 'run_started'),
    behind: behindOf([...entries, ...nextBoundary(entries)], view.begin),
  };
}
