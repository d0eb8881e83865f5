import { type Application, APPLICATIONS, type Connection, type EdgeTarget } from '../../contract/applications.ts'
import { mergeInto } from '../connect/merge.ts'

const TARGET: EdgeTarget = { url: 'https://edge.example.com', model: 'openai/gpt-4.1-mini' }

const INTRODUCTION = `# Applications

<!-- Written by \`npm run openapi\` from src/contract/applications.ts. -->

Coding agents, editors and SDKs work with an edge as they are: they need its address, a key and the name of a model. \`edgecall connect\` lists the
applications that it knows. With a name it prints what to set, and with \`--write\` it adds that to the files of the application and shows the difference:

\`\`\`sh
npx edgecall connect
npx edgecall connect claude-code --url https://edge.example.com
npx edgecall connect claude-code --url https://edge.example.com --write
npx edgecall connect cursor --tools --write
\`\`\`

The [studio](studio.md#connect) shows the same under _Connect_.

- The address is that of \`--url\`, \`EDGECALL_URL\` or the edge that runs in the folder. The model is that of \`--model\`, else the first that the edge lists.
- All that is in a file stays, comments too. A file that cannot be added to is not written; the command then prints what to add.
- No key is written. The files name the variable \`EDGECALL_KEY\`, which must be set where the application runs: in the profile of your shell or in
  a store of secrets, not in a file of the project. Make a key of its own for each person with \`edgecall keys new\`.
- The application asks the edge for answers, and the edge offers [its tools](tools.md) to the model beside those of the application. With \`--tools\`, the
  application keeps a model of its own and gets the tools of the edge by [MCP](mcp.md). Calls that need approval can wait there: the model is told where
  [a person decides](approvals.md#approvals-of-mcp-clients), and calls again.

\`npm run test:apps\` in the repository sets up nine of them by this command, and has each work with a scripted model.
`

/** Returns the pages of docs/ on the applications that `edgecall connect` knows, by file. */
export function applicationPages(): Readonly<Record<string, string>> {
  const all: [string, Application][] = Object.entries(APPLICATIONS)
  return {
    'applications.md': [INTRODUCTION, ...all.map(([name, application]) => section(name, application))].join('\n'),
  }
}

function section(name: string, { title, speaks, model, tools, start }: Application): string {
  const parts = [
    ...(model ? [`${speaks ? `By the ${speaks} API` : 'By hand'}:`, ...partsOf(model(TARGET))] : []),
    ...(start === undefined ? [] : [`Start it with \`${start}\`.`]),
    ...(tools ? ['With `--tools`:', ...partsOf(tools(TARGET))] : []),
  ]
  return `## ${title}\n\n\`edgecall connect ${name}\`. ${parts.join('\n\n')}\n`
}

function partsOf({ files = [], variables = {}, code, note }: Connection): string[] {
  const exports = Object.entries(variables).map(([name, value]) => `export ${name}=${value}\n`)
  return [
    ...files.flatMap(({ path, content }) => [
      `\`${path}\``,
      // Short lists on one line, as the formatter has them.
      block(
        path.slice(path.lastIndexOf('.') + 1),
        mergeInto(path, '', content).replaceAll(/\[\s+("[^"]*")\s+\]/g, '[$1]'),
      ),
    ]),
    ...(exports.length > 0 ? [block('text', exports.join(''))] : []),
    ...(code === undefined ? [] : [block('ts foreign', code)]),
    ...(note === undefined ? [] : [note]),
  ]
}

function block(language: string, text: string): string {
  return `\`\`\`${language}\n${text.trimEnd()}\n\`\`\``
}
