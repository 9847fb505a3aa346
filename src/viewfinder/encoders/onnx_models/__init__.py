"""Image-text models as ONNX files: encoders of CLIP and SigLIP families without torch or transformers.

`load_onnx_encoder` is where to begin; then `layouts` (the files of a folder), `pixels` and `tokens` (what is made of
pictures and texts for a network), `graphs` (what a network takes and gives), and `encoder`. `export` makes such a
folder from a checkpoint of transformers.
"""

from viewfinder.encoders.onnx_models.encoder import OnnxEncoder, load_onnx_encoder
from viewfinder.encoders.onnx_models.layouts import find_onnx_folder

__all__ = ["OnnxEncoder", "find_onnx_folder", "load_onnx_encoder"]
