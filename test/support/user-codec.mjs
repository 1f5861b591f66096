// A codec of a user's own: every payload is turned inside out, under an encoding that nobody else
// knows.
export const ENCODING = 'binary/users-own';

const turned = (bytes) => Uint8Array.from(bytes, (byte) => byte ^ 0x5a);
const name = (encoding) => Buffer.from(encoding);

export const userCodec = {
  encode: (payloads) =>
    Promise.resolve(
      payloads.map(({ metadata, data }) => ({
        metadata: { encoding: name(ENCODING), was: metadata.encoding },
        data: turned(data ?? []),
      })),
    ),
  decode: (payloads) =>
    Promise.resolve(
      payloads.map((payload) =>
        Buffer.from(payload.metadata?.encoding ?? []).toString() === ENCODING
          ? { metadata: { encoding: payload.metadata.was }, data: turned(payload.data ?? []) }
          : payload,
      ),
    ),
};
