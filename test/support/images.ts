// The smallest files that say they are images of a size, or a document of so many pages.
import { deflateSync } from 'node:zlib';

/** A real one of one grey line for each row, but for its checksums. */
export function pngOf(width: number, height: number): Buffer {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.writeUInt8(8, 8);
  const chunk = (type: string, data: Buffer): Buffer => {
    const length = Buffer.alloc(4);
    length.writeUInt32BE(data.length);
    return Buffer.concat([length, Buffer.from(type), data, Buffer.alloc(4)]);
  };
  const rows = deflateSync(Buffer.alloc(Math.min(height, 10) * (Math.min(width, 10) + 1)));
  const start = Buffer.from('\x89PNG\r\n\x1a\n', 'latin1');
  return Buffer.concat([start, chunk('IHDR', header), chunk('IDAT', rows), chunk('IEND', Buffer.alloc(0))]);
}

export function jpegOf(width: number, height: number): Buffer {
  const frame = Buffer.from([0xff, 0xc0, 0, 11, 8, height >> 8, height & 255, width >> 8, width & 255, 1, 1, 17, 0]);
  const comment = Buffer.from([0xff, 0xfe, 0, 4, 65, 66]);
  return Buffer.concat([Buffer.from([0xff, 0xd8]), comment, frame, Buffer.from([0xff, 0xd9])]);
}

/** The extended form. */
export function webpOf(width: number, height: number): Buffer {
  const bytes = Buffer.alloc(30);
  bytes.write('RIFF', 0);
  bytes.write('WEBPVP8X', 8);
  bytes.writeUIntLE(width - 1, 24, 3);
  bytes.writeUIntLE(height - 1, 27, 3);
  return bytes;
}

/** The least that says so: no viewer would show it. */
export function pdfOf(pages: number): Buffer {
  const page = '<< /Type /Page /Parent 1 0 R >>\n'.repeat(pages);
  return Buffer.from(`%PDF-1.4\n<< /Type /Pages /Count ${pages} >>\n${page}startxref\n9\n%%EOF\n`);
}
