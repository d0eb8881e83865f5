import { askQuestion } from '../ask.ts'
import { listAllTools } from '../listing.ts'
import { runPrinter } from '../print.ts'
import type { ToolsOptions } from './tools.ts'

export interface QuestionOptions extends ToolsOptions {
  readonly question: string
  /** The conversation that the question continues. Default: none. */
  readonly conversation?: string | undefined
  readonly model?: string | undefined
}

/** Asks an edge a question and prints the run; under `--json`, one value for each event. */
export async function askEdge({ edge, terminal, signal, question, ...options }: QuestionOptions): Promise<void> {
  const places = new Map((await listAllTools(edge, signal)).map(({ name, place }) => [name, place]))
  const print = runPrinter({ write: terminal.print, origin: (tool) => places.get(tool) ?? 'no tool' })
  const onEvent: typeof print = (event) => {
    terminal.emit(event)
    print(event)
  }
  await askQuestion(edge, question, { onEvent, signal, ...options })
}
