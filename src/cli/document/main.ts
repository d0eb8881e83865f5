/** `npm run openapi` and `npm run studio`: write the files of this repository that are made from its code. */
import { writeDocument } from './document.ts'
import { writeStudio } from './studio.ts'

const root = process.cwd()
if (process.argv[2] === 'studio') await writeStudio(root)
else writeDocument(root)
