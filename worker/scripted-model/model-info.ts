// What GET /v1/models/:id says of a scripted model: every id exists, with the limits the server was started with.

const WINDOW = 200_000;
const MOST_OUTPUT = 64_000;

export type ModelLimits = { readonly window: number | undefined; readonly maxOutputTokens: number | undefined };

export function modelInfo(id: string, limits: ModelLimits): object {
  return {
    type: 'model',
    id,
    display_name: `${id} (scripted)`,
    created_at: '1970-01-01T00:00:00Z',
    max_input_tokens: limits.window ?? WINDOW,
    max_tokens: limits.maxOutputTokens ?? MOST_OUTPUT,
  };
}
