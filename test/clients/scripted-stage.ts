import { sha256 } from '../../src/contract/json.ts'
import { chunksOf, type ModelCall, type ModelReply, startModelServer } from '../fixtures/model-server.ts'
import { type Stage, startStage } from '../edge/stage.ts'

export interface ScriptedStage extends Stage {
  /** A key with every scope. */
  readonly key: string
  /** What the model answers from now on, request by request; a request too many is refused. */
  script(...replies: readonly ModelReply[]): void
  /** What the model got since then. */
  bodies(): readonly ModelCall['body'][]
}

/** The edge on workerd, where keys are asked for, before a model server that plays a script. */
export async function startScripted(vars: Record<string, string> = {}): Promise<ScriptedStage> {
  let replies: readonly ModelReply[] = []
  let requestCount = 0
  const nothing: ModelReply = { status: 400, body: { error: { message: 'The script has run out.' } } }
  const model = await startModelServer((_call, index) => replies[index - requestCount] ?? nothing)
  const key = 'ek_of_the_tests'
  const scopes = ['chat', 'tools:read', 'tools:write', 'approve']
  const stage = await startStage(
    {
      MODEL: 'openai/test',
      OPENAI_BASE_URL: model.baseUrl,
      API_KEYS: JSON.stringify([{ sha256: await sha256(key), tenant: 'acme', scopes }]),
      ...vars,
    },
    { rogue: true },
  )
  return {
    ...stage,
    key,
    script: (...steps) => {
      replies = steps
      requestCount = model.calls.length
    },
    bodies: () => model.calls.slice(requestCount).map((call) => call.body),
    close: async () => {
      await stage.close()
      await model.close()
    },
  }
}

const usage = { inputTokens: 10, outputTokens: 5 }

/** The model answers with a text, word by word. */
export function say(text: string): ModelReply {
  return { chunks: chunksOf({ text, usage }) }
}

/** The model asks for tools. */
export function ask(...calls: readonly [tool: string, args?: object][]): ModelReply {
  return {
    chunks: chunksOf({
      calls: calls.map(([tool, args = {}]) => ({ tool, arguments: JSON.stringify(args) })),
      usage,
    }),
  }
}
