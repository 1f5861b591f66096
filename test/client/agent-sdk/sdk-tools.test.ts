// Checks the types of tools against what calls answer with: it is enough that this compiles.
import { expectTypeOf, test } from 'vitest';
import type {
  AskUserQuestionInput,
  BashInput,
  FileEditOutput,
  ToolInputSchemas,
  WebFetchInput,
} from 'perdure/agent-sdk/sdk-tools';

test('the types of tools that programs name have the fields that calls have here (Q7)', () => {
  expectTypeOf<BashInput['command']>().toEqualTypeOf<string>();
  expectTypeOf<{ url: string; prompt: string }>().toExtend<WebFetchInput>();
  expectTypeOf<AskUserQuestionInput['questions'][number]['options'][number]['label']>().toEqualTypeOf<string>();
  expectTypeOf<FileEditOutput['structuredPatch'][number]['lines']>().toEqualTypeOf<string[]>();
  expectTypeOf<BashInput>().toExtend<ToolInputSchemas>();
});
