// Content of messages and results as API blocks. Texts and media that are stored by hash come from
// `bodies`.
import type {
  BetaManagedAgentsDocumentBlock,
  BetaManagedAgentsImageBlock,
  BetaManagedAgentsTextBlock,
} from '@anthropic-ai/sdk/resources/beta/sessions';
import { bodyText, mediaKey } from '../../client/faces/stored.ts';
import type { Bodies, MessageBody, Outcome, StoredMedium } from '../../client/faces/types.ts';

type Block = BetaManagedAgentsTextBlock | BetaManagedAgentsImageBlock | BetaManagedAgentsDocumentBlock;

/** The text of a message with its media in their places. */
export function contentOfMessage(body: MessageBody, bodies: Bodies): Block[] {
  const text = bodyText(body, bodies);
  const blocks: Block[] = [];
  let from = 0;
  for (const medium of body.media ?? []) {
    blocks.push(...textBlocks(text.slice(from, medium.at)), mediumBlock(medium, bodies));
    from = medium.at;
  }
  return [...blocks, ...textBlocks(text.slice(from))];
}

export const contentOfOutcome = ({ content, media = [] }: Outcome, bodies: Bodies): Block[] => [
  ...textBlocks(content),
  ...media.map((medium) => mediumBlock(medium, bodies)),
];

const textBlocks = (text: string): Block[] => (text === '' ? [] : [{ type: 'text', text }]);

function mediumBlock({ hash, mediaType }: StoredMedium, bodies: Bodies): Block {
  const source = { type: 'base64' as const, data: bodies.get(mediaKey(hash)) ?? '', media_type: mediaType };
  return mediaType === 'application/pdf' ? { type: 'document', source } : { type: 'image', source };
}
