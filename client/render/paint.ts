// Colours, where there is a terminal that shows them and nobody asked for none.

export type Paint = {
  readonly on: boolean;
  dim(text: string): string;
  bold(text: string): string;
  red(text: string): string;
  green(text: string): string;
  yellow(text: string): string;
  cyan(text: string): string;
};

type Stream = { readonly isTTY?: boolean | undefined };

/** `NO_COLOR` set to anything, or TERM=dumb, turns them off. */
export function paint(stream: Stream, env: Readonly<Record<string, string | undefined>>): Paint {
  return painter(stream.isTTY === true && !env['NO_COLOR'] && env['TERM'] !== 'dumb');
}

export function painter(on: boolean): Paint {
  const style =
    (code: number, end: number) =>
    (text: string): string =>
      on && text !== '' ? `\u001b[${code}m${text}\u001b[${end}m` : text;
  return {
    on,
    dim: style(2, 22),
    bold: style(1, 22),
    red: style(31, 39),
    green: style(32, 39),
    yellow: style(33, 39),
    cyan: style(36, 39),
  };
}
