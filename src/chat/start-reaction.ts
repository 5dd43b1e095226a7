/** What somebody asks who gives a message to the agent by a reaction; the message itself comes as a quotation. */
export const startText = "Take care of this message: do what it asks for, or answer it.";
