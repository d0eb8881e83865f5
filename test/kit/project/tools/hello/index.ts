import * as v from 'valibot'
import { defineTool, serveTools } from 'edgecall/tool'

const hello = defineTool({
  name: 'hello',
  description: 'Greets a person by name. Use it when somebody wants to be greeted.',
  input: v.object({ name: v.pipe(v.string(), v.description('Whom to greet')) }),
  run: ({ name }) => `Hello, ${name}!`,
})
export default serveTools(hello)
