// Writes a request as JSON. A conversation is sent anew with each request, and grows: a message that
// was sent before is not written again.
import { PartedBody } from '../../../system/parted-body.ts';
import type { ModelRequest } from '../../deps.ts';

/** By message, which never changes. */
const known = new WeakMap<object, Buffer>();

const COMMA = Buffer.from(',');

/** Returns the UTF-8 of the JSON. */
export function encodeRequest({ messages, ...fields }: ModelRequest): PartedBody {
  const parts: Buffer[] = [Buffer.from(`${JSON.stringify(fields).slice(0, -1)},"messages":[`)];
  for (const [index, message] of messages.entries()) {
    if (index > 0) parts.push(COMMA);
    parts.push(encodeMessage(message));
  }
  parts.push(Buffer.from(']}'));
  return new PartedBody(parts);
}

function encodeMessage(message: object): Buffer {
  const found = known.get(message);
  if (found) return found;
  const bytes = Buffer.from(JSON.stringify(message));
  known.set(message, bytes);
  return bytes;
}
