// Cases in which a worker is killed and another one takes over, played at once: one worker dies
// under all of them, and one takes all over. Each case has a folder of its own, whose name tells
// the model whose request it is.
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ParsedRequest, Reply } from '../../scripted-model/index.ts';
import type { RunOptions } from '../../workflows/contract/session.ts';
import { crashHarness } from './crash-harness.ts';
import type { OpenSession } from './harness.ts';
import { gatherChain, replayGathered } from './replay-histories.ts';
import { fillWorkspace } from './scenarios.ts';

type Harness = Awaited<ReturnType<typeof crashHarness>>;

export type KilledCase = {
  /** The title of its test. */
  readonly name: string;
  readonly script: readonly Reply[] | ((request: ParsedRequest) => Reply);
  readonly play: (place: KilledPlace) => Promise<void>;
};

export type KilledPlace = Pick<Harness, 'client' | 'storePlace' | 'follow' | 'liveText'> & {
  readonly cwd: string;
  open(run?: Partial<RunOptions>): Promise<OpenSession>;
  /** What the model was asked in this case. */
  bodies(): readonly ParsedRequest[];
  /** Whole lines of a file in its folder. */
  lines(file: string): readonly string[];
  effects(): readonly string[];
  /** Waits until the worker is killed, which it is when every case has come here. */
  died(): Promise<void>;
  /** Waits until another worker polls, which is started when every case has come here. */
  replaced(): Promise<void>;
};

/**
 * Plays all of them when the first is asked for. A case that fails fails alone. Each of its
 * sessions must replay.
 */
export function playKilled(
  cases: readonly KilledCase[],
  settings: { readonly configFile: string },
): (one: KilledCase) => Promise<void> {
  let played: Promise<readonly PromiseSettledResult<void>[]> | undefined;
  return async (one) => {
    played ??= playAll(cases, settings);
    const result = (await played)[cases.indexOf(one)];
    if (result?.status !== 'fulfilled') throw result?.reason;
  };
}

async function playAll(cases: readonly KilledCase[], settings: { readonly configFile: string }) {
  const asked = cases.map((): ParsedRequest[] => []);
  const left = cases.map(({ script }) => (typeof script === 'function' ? script : [...script]));
  const h = await crashHarness({
    ...settings,
    script: (request) => {
      const whose = Number(/\bcase-(\d+)\b/.exec(JSON.stringify(request))?.[1]);
      asked[whose]?.push(request);
      const replies = left[whose];
      return typeof replies === 'function' ? replies(request) : replies?.shift();
    },
  });
  const first = await h.worker();
  const names = cases.map(({ name }) => name);
  const death = meeting(names, () => first.kill());
  const takeover = meeting(names, () => h.worker());
  const opened: OpenSession[][] = cases.map(() => []);
  const playing = cases.map(async ({ play }, at) => {
    const place = placeOf(h, `case-${String(at).padStart(2, '0')}`, {
      asked: asked[at] ?? [],
      opened: opened[at] ?? [],
    });
    const [died, replaced] = [death.attend(at), takeover.attend(at)];
    try {
      await play({ ...place, died, replaced });
    } finally {
      void died();
      void replaced();
    }
  });
  const results = await Promise.allSettled(playing);
  await (await takeover.met).kill();
  for (const session of opened.flat()) await gatherChain(h.client, session);
  const broken = await replayGathered();
  if (h.model.problems.length > 0) throw new Error(h.model.problems.join('\n'));
  return results.map((result, at): PromiseSettledResult<void> => {
    const reason = opened[at]?.map(({ id }) => broken.get(id)).find((why) => why !== undefined);
    if (result.status === 'rejected' || reason === undefined) return result;
    return { status: 'rejected', reason: new Error(`its session does not replay: ${reason}`) };
  });
}

/** What a case has of what all share, before its worker dies. */
function placeOf(
  h: Harness,
  name: string,
  { asked, opened }: { readonly asked: readonly ParsedRequest[]; readonly opened: OpenSession[] },
) {
  const cwd = join(h.cwd, name);
  mkdirSync(cwd);
  fillWorkspace(cwd, name);
  const lines = (file: string): readonly string[] =>
    existsSync(join(cwd, file)) ? readFileSync(join(cwd, file), 'utf8').split('\n').slice(0, -1) : [];
  return {
    client: h.client,
    storePlace: h.storePlace,
    follow: h.follow,
    liveText: h.liveText,
    cwd,
    bodies: () => asked,
    lines,
    effects: () => lines('effects.log'),
    open: async (run: Partial<RunOptions> = {}) => {
      const session = await h.open(`Do ${name}.`, { ...run, cwd });
      opened.push(session);
      return session;
    },
  };
}

/**
 * Less than a test's own time: who waits for another case is told which, and what has come this far
 * ends.
 */
const PATIENCE_MS = 400_000;

/**
 * Something that is done once, when all have come; without those who do not come in time it fails.
 */
function meeting<T>(names: readonly string[], act: () => Promise<T>) {
  const missing = new Map(names.entries());
  let begin = (): void => {};
  let giveUp = (_reason: Error): void => {};
  const all = new Promise<void>((resolve, reject) => ([begin, giveUp] = [resolve, reject]));
  const met = all.then(act);
  // Each who waits for it hears of its failure.
  met.catch(() => {});
  const timer = setTimeout(
    () => giveUp(new Error(`still waited for: ${[...missing.values()].join(', ')}`)),
    PATIENCE_MS,
  );
  timer.unref();
  const attend = (at: number) => async (): Promise<void> => {
    missing.delete(at);
    if (missing.size === 0) begin();
    await met;
  };
  return { attend, met };
}
