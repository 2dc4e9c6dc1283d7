"""Server-side printing: objects as the tables that ``kubectl get`` shows."""
