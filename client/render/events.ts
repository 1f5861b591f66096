// Renders a followed session as it goes: text streams, everything else takes a line. What became void is said to be void and
// never said again (L16).
import type { Watched } from '../../activities/live/events.ts';
import type { Followed } from '../follow.ts';
import type { RunOutcome } from '../run-outcome.ts';
import type { Paint } from './paint.ts';
import { oneLine, plain } from './plain.ts';
import { callLine, resultLines } from './tool-lines.ts';
import { shortTime } from './units.ts';
import { noticeText, outcomeText, transitionText } from './words.ts';

export type Screen = {
  readonly write: (text: string) => void;
  readonly paint: Paint;
  /** Of whom: the prompt that was given on the command line need not be said again. */
  readonly showPrompts: boolean;
};

type Of<Type extends Watched['type']> = Extract<Watched, { readonly type: Type }>;

/** What of an attempt is on the screen: its deltas may become void. */
type Spoken = { readonly step: number; readonly attempt: number };

export function eventRenderer(screen: Screen): (event: Followed) => void {
  const { paint } = screen;
  const pen = linePen(screen.write);
  let thinking: number | null = null;
  let spoken: Spoken | null = null;
  let lastText = '';

  const say = (line: string): void => {
    thinking = null;
    pen.line(line);
  };
  const speak = ({ step, attempt, text }: Of<'text_delta'>): void => {
    if (spoken?.step !== step || spoken.attempt !== attempt) lastText = '';
    if (thinking !== null) pen.fresh();
    thinking = null;
    spoken = { step, attempt };
    lastText += text;
    pen.text(plain(text));
  };
  const think = ({ step, text }: Of<'thinking_delta'>): void => {
    if (!paint.on) {
      if (thinking !== step) say('(thinking)');
    } else {
      if (thinking !== step) pen.fresh();
      pen.text(plain(text), paint.dim);
    }
    thinking = step;
  };
  const void_ = ({ step, attempt, why }: Of<'tombstone'>): void => {
    const said = spoken?.step === step && spoken.attempt === attempt;
    if (said) lastText = '';
    if (said) spoken = null;
    const what = said ? `what it said in attempt ${attempt} is void` : `attempt ${attempt} ended`;
    say(paint.yellow(`✗ ${what}: ${oneLine(why, 300)}`));
  };
  const end = (outcome: RunOutcome): void => {
    // Said already, unless the channel lost it.
    const said = lastText !== '' && outcome.text.endsWith(lastText);
    if (outcome.text !== '' && !said) say(plain(outcome.text));
    const colour = outcome.reason === 'completed' ? paint.green : paint.red;
    say(colour(outcomeText(outcome)));
  };

  return (event) => {
    switch (event.type) {
      case 'text_delta':
        return speak(event);
      case 'thinking_delta':
        return think(event);
      case 'tombstone':
        return void_(event);
      case 'result':
        return end(event);
      case 'user':
        if (screen.showPrompts) say(`${paint.bold('›')} ${oneLine(event.text, 400)}`);
        return;
      default: {
        const line = lineOf(paint, event);
        if (line !== null) say(line);
      }
    }
  };
}

type Lines = Exclude<Followed, Of<'text_delta'> | Of<'thinking_delta'> | Of<'tombstone'> | Of<'user'> | RunOutcome>;

/** Null: nothing to show for it. */
function lineOf(paint: Paint, event: Lines): string | null {
  switch (event.type) {
    case 'tool_use':
      return callLine(paint, event.name, event.input);
    case 'tool_end':
      return resultLines(paint, event);
    case 'tool_progress':
      return paint.dim(`  … ${oneLine(event.text, 140)}`);
    case 'retry': {
      const { failures, delayMs, error } = event;
      return paint.yellow(`↻ failed ${failures}×, again in ${shortTime(delayMs)}: ${oneLine(error, 300)}`);
    }
    case 'transition':
      return paint.dim(`── ${transitionText(event.reason)}`);
    case 'notice':
      return paint.yellow(noticeText(event.notice));
    case 'reply':
      return event.fate === 'whole' ? null : paint.dim(`(the reply was ${event.fate})`);
    case 'run_start':
      return paint.dim(`── run ${event.run} · ${oneLine(event.model, 80)} · ${oneLine(event.cwd, 200)}`);
    case 'request_start':
    case 'tool_start':
    case 'run_end':
      return null;
  }
}

/** Knows whether it is at the start of a line. */
function linePen(write: (text: string) => void) {
  let atStart = true;
  const text = (words: string, style = (same: string): string => same): void => {
    if (words === '') return;
    write(style(words));
    atStart = words.endsWith('\n');
  };
  const fresh = (): void => {
    if (!atStart) text('\n');
  };
  return {
    text,
    fresh,
    line: (words: string): void => {
      fresh();
      text(`${words}\n`);
    },
  };
}
