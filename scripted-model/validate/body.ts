// Checks the bytes of a body before they are parsed as JSON, and the JSON before it counts as a
// request.
import { isUtf8 } from 'node:buffer';

type ParsedBody =
  { readonly kind: 'json'; readonly value: unknown } | { readonly kind: 'invalid'; readonly problem: string };

export function parseBody(bytes: Buffer): ParsedBody {
  if (!isUtf8(bytes)) return refuseBody('invalid UTF-8');
  const text = bytes.toString('utf8');
  const surrogate = findLoneSurrogate(text);
  if (surrogate !== undefined) return refuseBody(surrogate);
  try {
    return { kind: 'json', value: JSON.parse(text) as unknown };
  } catch (error) {
    return refuseBody(error instanceof Error ? error.message : String(error));
  }
}

function refuseBody(detail: string): ParsedBody {
  return { kind: 'invalid', problem: `The request body is not valid JSON: ${detail}` };
}

/**
 * Finds half a surrogate pair in an escape, which JSON.parse accepts and the API does not. In UTF-8
 * it cannot stand unescaped.
 */
function findLoneSurrogate(text: string): string | undefined {
  if (!/\\u[dD][89a-fA-F]/.test(text)) return undefined;
  const escapes = /\\(?:u([0-9a-fA-F]{4})|[^])/g;
  let high = -1;
  for (let match = escapes.exec(text); match !== null; match = escapes.exec(text)) {
    const code = match[1] === undefined ? 0 : parseInt(match[1], 16);
    const isLow = code >= 0xdc00 && code <= 0xdfff;
    const follows = high === match.index - 6;
    if (high >= 0 && !(isLow && follows)) return describePosition('no low surrogate in string', high);
    if (isLow && high < 0) return describePosition('unexpected low surrogate in string', match.index);
    high = code >= 0xd800 && code <= 0xdbff ? match.index : -1;
  }
  return high < 0 ? undefined : describePosition('no low surrogate in string', high);
}

function describePosition(what: string, index: number): string {
  return `${what}: line 1 column ${index + 1} (char ${index})`;
}
